#include <malloc.h>

#include <algorithm>
#include <thread>

#include "base/process/descriptors.h"
#include "cli/tree/command_tree.h"

int main(int argc, char** argv) {
  // By default up to eight arenas per core, each of which grows to what its threads have needed at their busiest moment; most
  // threads here wait for networks.
  mallopt(M_ARENA_MAX, static_cast<int>(std::max(2u, std::thread::hardware_concurrency())));
  // An answer to a list is made of pieces of a megabyte. glibc gives them back to the system one by one or keeps them, as it
  // happens to have been used before; where it gives them back a list takes six times as long.
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  // A connection to each member and one of each client are more than a thousand in a large fleet.
  evenkeel::base::RaiseDescriptorLimit();
  return evenkeel::cli::CommandTree(EVENKEEL_VERSION).Run(argc, argv);
}
