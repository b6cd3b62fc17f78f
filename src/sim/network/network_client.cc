#include "sim/network/network_parts.h"

namespace evenkeel::sim {

using base::Json;
using base::Result;

namespace {

template <typename T>
class TypedExchange final : public Exchange {
 public:
  using Operation = std::move_only_function<Result<T>(client::Client& api)>;
  TypedExchange(bool write, bool versioned, Operation operation)
      : Exchange(write, versioned), operation_(std::move(operation)) {}
  void CarryOut(client::Client& api) override {
    Result<T> result = operation_(api);
    // Who has given up waiting keeps the time-out that it was told.
    if (!concluded) answer = std::move(result);
  }
  void Fail(base::Error error) override { answer = base::Fail(std::move(error)); }

  Result<T> answer = base::Fail(base::Code::kInternal, "no answer");

 private:
  Operation operation_;
};

class NetworkWatch final : public client::Watch {
 public:
  explicit NetworkWatch(std::shared_ptr<WatchStream> stream) : stream_(std::move(stream)) {}
  ~NetworkWatch() override { stream_->Close(); }

 private:
  const std::shared_ptr<WatchStream> stream_;
};

bool HasVersion(const Json& object) { return !kube::ResourceVersionOf(object).empty(); }

}  // namespace

class NetworkClient final : public client::Client {
 public:
  NetworkClient(Network& network, Process& process, std::shared_ptr<Sender> sender)
      : network_(network), process_(process), sender_(std::move(sender)) {}

  Result<Json> Get(const kube::Resource& resource, std::string_view ns, std::string_view name,
                   std::string_view subresource) override {
    return Read<Json>([&](client::Client& api) { return api.Get(resource, ns, name, subresource); });
  }

  Result<client::ListPage> List(const kube::Resource& resource, const client::ListOptions& options) override {
    if (network_.IsAway(sender_->api, sender_->options.host, resource.plural)) {
      return base::Fail(base::Code::kUnavailable, "the server is currently unable to handle the request");
    }
    return Read<client::ListPage>([&](client::Client& api) { return api.List(resource, options); });
  }

  Result<Json> Create(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    return Write(false, [resource, object = Json(object, {}), options](client::Client& api) {
      return api.Create(resource, object, options);
    });
  }

  Result<Json> Update(const kube::Resource& resource, const Json& object, const client::WriteOptions& options) override {
    return Write(HasVersion(object), [resource, object = Json(object, {}), options](client::Client& api) {
      return api.Update(resource, object, options);
    });
  }

  Result<Json> Patch(const kube::Resource& resource, std::string_view ns, std::string_view name, client::PatchType type,
                     const Json& patch, const client::PatchOptions& options) override {
    return Write(HasVersion(patch),
                 [resource, ns = std::string(ns), name = std::string(name), type, patch = Json(patch, {}),
                  options](client::Client& api) { return api.Patch(resource, ns, name, type, patch, options); });
  }

  Result<Json> Delete(const kube::Resource& resource, std::string_view ns, std::string_view name,
                      const client::DeleteOptions& options) override {
    return Write(!options.resource_version.empty(),
                 [resource, ns = std::string(ns), name = std::string(name), options](client::Client& api) {
                   return api.Delete(resource, ns, name, options);
                 });
  }

  Result<Json> Post(const kube::Resource& resource, std::string_view ns, std::string_view name, std::string_view subresource,
                    const Json& body) override {
    return Write(false,
                 [resource, ns = std::string(ns), name = std::string(name), subresource = std::string(subresource),
                  body = Json(body, {})](client::Client& api) { return api.Post(resource, ns, name, subresource, body); });
  }

  Result<std::unique_ptr<client::Watch>> NewWatch(const kube::Resource& resource, const client::WatchOptions& options,
                                                  client::WatchHandler handler) override {
    auto stream = std::make_shared<WatchStream>(network_, process_, sender_->link, std::move(handler));
    return Read<std::unique_ptr<client::Watch>>([&, stream](client::Client& api) -> Result<std::unique_ptr<client::Watch>> {
      EVENKEEL_ASSIGN(auto source, api.NewWatch(resource, options, [weak = std::weak_ptr(stream)](auto event) {
        if (const auto open = weak.lock()) open->Push(std::move(event));
      }));
      stream->Open(std::move(source));
      return std::make_unique<NetworkWatch>(stream);
    });
  }

  Result<std::string> GetRaw(std::string_view path) override {
    return Read<std::string>([&](client::Client& api) { return api.GetRaw(path); });
  }

  std::string Describe() const override { return "simulated " + sender_->api; }

 private:
  // A read is not carried out once its caller has gone, so it may refer to what the caller holds.
  template <typename T, typename Operation>
  Result<T> Read(Operation operation) {
    return Call<T>(std::make_shared<TypedExchange<T>>(false, false, std::move(operation)));
  }
  template <typename Operation>
  Result<Json> Write(bool versioned, Operation operation) {
    return Call<Json>(std::make_shared<TypedExchange<Json>>(true, versioned, std::move(operation)));
  }
  template <typename T>
  Result<T> Call(const std::shared_ptr<TypedExchange<T>>& exchange) {
    if (auto sent = network_.Carry(process_, sender_, exchange); !sent) return base::Fail(sent.error());
    return std::move(exchange->answer);
  }

  Network& network_;
  Process& process_;
  const std::shared_ptr<Sender> sender_;
};

std::unique_ptr<client::Client> Network::NewClient(Process& process, const std::string& api, NetworkClientOptions options) {
  Link& link = LinkOf(options.host, api);
  return std::make_unique<NetworkClient>(*this, process, std::make_shared<Sender>(Sender{api, std::move(options), link}));
}

}  // namespace evenkeel::sim
