// A store that is gone with its process: for tests, for fleets in virtual time, and for `--store memory`.
#pragma once

#include <memory>

#include "embedded/store/store.h"
#include "embedded/store/version_index.h"

namespace evenkeel::embedded::store {

/// Starts no thread: a write is visible, its watchers have been called and `done` has been called when Commit returns, all on
/// the calling thread, so a run in virtual time is the same each time. A write made from within a handler is visible and done
/// at once too; its watchers are called when those of the write being delivered have been.
std::unique_ptr<Store> NewMemoryStore(HistoryLimits limits = {});

}  // namespace evenkeel::embedded::store
