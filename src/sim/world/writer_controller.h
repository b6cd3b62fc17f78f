// The test workload: on each member that a replica owns it reads and updates a ConfigMap every second or two, with its name and
// a counter. Everything that may go wrong with ownership shows in it (WritesChecker, OneWriterChecker).
#pragma once

#include <functional>
#include <string>

#include "base/random.h"
#include "controllers/runtime/member.h"
#include "sim/network/api_server.h"

namespace evenkeel::sim {

struct TestRecord {
  std::string author;
  int64_t counter = 0;
};

/// Whether the write is one of the workload's.
bool IsTestWorkload(const ApiWrite& write);
TestRecord DecodeTestRecord(const embedded::store::Value& value);

/// @param author        the process
/// @param acknowledged  called for each write that the member has confirmed
controllers::runtime::MemberControllerFactory NewWriterController(
    std::string author, base::Random random,
    std::function<void(const std::string& member, const std::string& author, int64_t counter)> acknowledged);

}  // namespace evenkeel::sim
