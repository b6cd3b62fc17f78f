// The store of a fleet that has an etcd (v3 API, 3.4 or later): every call is a request to it, nothing is kept here.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "embedded/store/store.h"

namespace evenkeel::embedded::store {

struct EtcdOptions {
  /// Put before every key, so that several may share one etcd.
  std::string prefix = "/evenkeel/";
  std::chrono::milliseconds open_timeout{5'000};
  std::chrono::milliseconds request_timeout{10'000};
  /// Requests of Commit under way, beyond which it answers kTooManyRequests.
  size_t writes_max = 10'000;
  /// PEM files; TLS is used when ca_file is set or an endpoint begins with https://. The client's pair is optional.
  std::string ca_file, certificate_file, key_file;
};

/// Connects to any of the endpoints (host:port, with or without http:// or https://) and checks that one answers; later it
/// moves among them by itself. Errors: kBadRequest for a malformed endpoint or file, kUnavailable when none answers.
///
/// Commit is one transaction comparing mod_revision, also of the guard; a request that timed out or broke off is kUnavailable
/// and may have been carried out. A watch is one stream, reopened with growing pauses from behind the last event delivered;
/// events are held back in etcd while a handler is slow, so such a watch ends with kExpired only by compaction. Event::previous
/// is null also when the previous value has been compacted. Destroying the store waits for the requests under way
/// (request_timeout at most).
base::Result<std::unique_ptr<Store>> OpenEtcdStore(const std::vector<std::string>& endpoints, const EtcdOptions& options = {});

}  // namespace evenkeel::embedded::store
