// Which part of 127.0.0.0/8 a fleet's process pods have. Two fleets on one machine need different ones, and nothing else than
// the machine knows of both: so the claim is a name that the kernel keeps for the process, in the same network namespace as the
// addresses, and that it takes back however the process ends.
#pragma once

#include "base/result.h"

namespace evenkeel::embedded::fleet {

/// Holds 127.N.0.0/16 until it is destroyed.
class LoopbackClaim {
 public:
  static constexpr int kFirst = 16, kCount = 224;

  /// The preferred N if it is one of kFirst.. and free, else the next that is. kUnavailable when all are taken.
  static base::Result<LoopbackClaim> Take(int preferred);

  LoopbackClaim(LoopbackClaim&& other) noexcept;
  LoopbackClaim& operator=(LoopbackClaim&& other) noexcept;
  ~LoopbackClaim();

  int octet() const { return octet_; }

 private:
  LoopbackClaim(int socket, int octet) : socket_(socket), octet_(octet) {}
  int socket_ = -1;
  int octet_ = 0;
};

}  // namespace evenkeel::embedded::fleet
