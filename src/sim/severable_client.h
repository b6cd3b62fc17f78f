// A client whose other side can be cut off: from then on every call fails and its watches are silent, as after a crash of the
// caller or a partition.
#pragma once

#include <memory>

#include "client/client.h"

namespace evenkeel::sim {

/// Shared between whoever cuts and the clients that are cut.
struct Link {
  bool up = true;
};

class SeverableClient final : public client::Client {
 public:
  SeverableClient(std::unique_ptr<client::Client> next, std::shared_ptr<const Link> link)
      : next_(std::move(next)), link_(std::move(link)) {}

  base::Result<base::Json> Get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                               std::string_view subresource) override {
    if (!link_->up) return Cut();
    return next_->Get(resource, ns, name, subresource);
  }
  base::Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    if (!link_->up) return Cut();
    return next_->List(resource, options);
  }
  base::Result<base::Json> Create(const kube::Resource& resource, const base::Json& object,
                                  const client::WriteOptions& options) override {
    if (!link_->up) return Cut();
    return next_->Create(resource, object, options);
  }
  base::Result<base::Json> Update(const kube::Resource& resource, const base::Json& object,
                                  const client::WriteOptions& options) override {
    if (!link_->up) return Cut();
    return next_->Update(resource, object, options);
  }
  base::Result<base::Json> Patch(const kube::Resource& resource, std::string_view ns, std::string_view name,
                                 client::PatchType type, const base::Json& patch,
                                 const client::PatchOptions& options) override {
    if (!link_->up) return Cut();
    return next_->Patch(resource, ns, name, type, patch, options);
  }
  base::Result<base::Json> Delete(const kube::Resource& resource, std::string_view ns, std::string_view name,
                                  const client::DeleteOptions& options) override {
    if (!link_->up) return Cut();
    return next_->Delete(resource, ns, name, options);
  }
  base::Result<base::Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name,
                                std::string_view subresource, const base::Json& body) override {
    if (!link_->up) return Cut();
    return next_->Post(resource, ns, name, subresource, body);
  }
  base::Result<std::unique_ptr<client::Watch>> NewWatch(const kube::Resource& resource, const client::WatchOptions& options,
                                                        client::WatchHandler handler) override {
    if (!link_->up) return Cut();
    return next_->NewWatch(resource, options,
                           [link = link_, handler = std::move(handler)](base::Result<client::WatchEvent> event) {
                             if (link->up) handler(std::move(event));
                           });
  }
  base::Result<std::string> GetRaw(std::string_view path) override {
    if (!link_->up) return Cut();
    return next_->GetRaw(path);
  }
  std::string Describe() const override { return next_->Describe(); }

 private:
  static std::unexpected<base::Error> Cut() { return base::Fail(base::Code::kUnavailable, "connection refused"); }

  std::unique_ptr<client::Client> next_;
  std::shared_ptr<const Link> link_;
};

}  // namespace evenkeel::sim
