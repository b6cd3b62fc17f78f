// A client whose reads are answered from local copies that watches keep current: what asks an API once asks it live when it is
// given this one. Nothing is read before it is asked for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "client/forwarding_client.h"
#include "client/informer.h"

namespace evenkeel::client {

/// Reads only; writes are kForbidden. Lives on one strand, as informers do: to be used, and destroyed, there or once it is
/// closed.
class WatchedClient final : public ForwardingClient {
 public:
  /// `next` and `clock` must outlive it. `changed`: a copy has come or has changed; on the strand.
  WatchedClient(Client& next, std::shared_ptr<base::Strand> strand, base::Clock& clock, base::Random random,
                std::function<void()> changed);

  /// What has not been read yet is kUnavailable, and `waits` is true from then on until it is taken.
  bool TakeWaits() { return std::exchange(waits_, false); }

  /// What the API says where a copy that was read could not be kept current for `kOutage`: answers are from before then.
  std::optional<base::Error> Outage() const;
  static constexpr base::Duration kOutage = std::chrono::seconds(3);

  Result<Json> Get(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource) override;
  /// All in one page.
  Result<ListPage> List(const Resource& resource, const ListOptions& options) override;
  Result<Json> Create(const Resource& resource, const Json& object, const WriteOptions& options) override;
  Result<Json> Update(const Resource& resource, const Json& object, const WriteOptions& options) override;
  Result<Json> Patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type, const Json& patch,
                     const PatchOptions& options) override;
  Result<Json> Delete(const Resource& resource, std::string_view ns, std::string_view name,
                      const DeleteOptions& options) override;
  Result<Json> Post(const Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                    const Json& body) override;

 private:
  using Copy = Informer<kube::Object>;
  /// kUnavailable: it is being read. Otherwise what the API says.
  Result<const Copy*> CopyOf(const Resource& resource, InformerOptions options);

  const std::shared_ptr<base::Strand> strand_;
  base::Clock& clock_;
  const base::Random random_;
  const std::function<void()> changed_;
  bool waits_ = false;
  /// By group, plural, namespace and selectors. Unsynced copies tell of their first list by a timer.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::unique_ptr<Copy>> copies_;
  base::Timer look_again_;
};

}  // namespace evenkeel::client
