// Open descriptors: files and connections, of which a process has a limited number.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace evenkeel::base {

/// Raises this process's soft limit to the hard one (kernels begin with 1,024 of often a million, for programs that use
/// select). The limit then; programs that it starts inherit it.
int64_t RaiseDescriptorLimit();

/// Whoever wants a descriptor and gets none (EMFILE, ENFILE) says so: the process as a whole is no longer able to do its work.
/// Any thread.
void NoteNoDescriptorLeft(Instant now);
/// Within the last ten seconds somebody did.
bool DescriptorsAreShort(Instant now);

}  // namespace evenkeel::base
