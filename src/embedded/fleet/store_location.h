// Opens a store from what `--store` says.
#pragma once

#include <memory>
#include <string>

#include "embedded/store/store.h"

namespace evenkeel::embedded::fleet {

/// "memory", "sqlite:PATH", "etcd://HOST:PORT[,HOST:PORT...]". kBadRequest names the choices.
base::Result<std::unique_ptr<store::Store>> OpenStore(const std::string& spec);

}  // namespace evenkeel::embedded::fleet
