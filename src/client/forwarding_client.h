// What decorators of a Client, and doubles in tests, are made from: every call goes to the next Client as it is, so each
// overrides only what it changes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/client.h"

namespace evenkeel::client {

/// Hands on everything but Visit, which is Client's own: it asks List, so whoever overrides List changes both.
class ForwardingClient : public Client {
 public:
  /// `next` must be there as long as calls are made.
  explicit ForwardingClient(Client& next) : next_(next) {}

  Result<Json> Get(const Resource& resource, std::string_view ns, std::string_view name,
                   std::string_view subresource) override {
    return next_.Get(resource, ns, name, subresource);
  }
  Result<ListPage> List(const Resource& resource, const ListOptions& options) override { return next_.List(resource, options); }
  Result<Json> Create(const Resource& resource, const Json& object, const WriteOptions& options) override {
    return next_.Create(resource, object, options);
  }
  Result<Json> Update(const Resource& resource, const Json& object, const WriteOptions& options) override {
    return next_.Update(resource, object, options);
  }
  Result<Json> Patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type, const Json& patch,
                     const PatchOptions& options) override {
    return next_.Patch(resource, ns, name, type, patch, options);
  }
  Result<Json> Delete(const Resource& resource, std::string_view ns, std::string_view name,
                      const DeleteOptions& options) override {
    return next_.Delete(resource, ns, name, options);
  }
  Result<Json> Post(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                    const Json& body) override {
    return next_.Post(resource, ns, name, subresource, body);
  }
  Result<std::unique_ptr<Watch>> NewWatch(const Resource& resource, const WatchOptions& options,
                                          WatchHandler handler) override {
    return next_.NewWatch(resource, options, std::move(handler));
  }
  bool StreamsLists() override { return next_.StreamsLists(); }
  ListLimits Limits() const override { return next_.Limits(); }
  Result<std::string> GetRaw(std::string_view path) override { return next_.GetRaw(path); }
  std::string Describe() const override { return next_.Describe(); }

 protected:
  Client& next() const { return next_; }

 private:
  Client& next_;
};

}  // namespace evenkeel::client
