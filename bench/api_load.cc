// Times lists and watches of any Kubernetes API server, given its kubeconfig; one line of JSON on standard output.
//
//   evenkeel_api_load KUBECONFIG list [PAGE_SIZE [ROUNDS]]     all pods in pages: the bytes alone, then decoded into objects;
//   in
//                                                              JSON and in protocol buffers
//   evenkeel_api_load KUBECONFIG watch [WATCHERS [WRITES]]     from a write being sent until the last watcher has decoded it
//   evenkeel_api_load KUBECONFIG version
#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <mutex>

#include "base/time.h"
#include "client/http/http_client.h"
#include "kube/forms/protobuf.h"

namespace evenkeel::bench {
namespace {

using base::Json;
using base::JsonObject;
using base::Result;

double SecondsSince(base::Instant start) {
  return std::chrono::duration<double>(base::SystemClock().Monotonic() - start).count();
}

/// The middle of what was measured; the upper one of two.
double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// The continue token of a list. It stands before the items, so that only the head of the text is searched.
std::string ContinueToken(std::string_view page) {
  if (const auto envelope = kube::ReadProtobufEnvelope(page)) {
    const auto list = kube::ReadProtobufList(envelope->raw);
    return list ? std::string(base::FindString(list->metadata, {"continue"})) : "";
  }
  constexpr std::string_view kField = "\"continue\":\"";
  const std::string_view head = page.substr(0, page.find("\"items\""));
  const size_t at = head.find(kField);
  if (at == head.npos) return "";
  const size_t begin = at + kField.size();
  return std::string(head.substr(begin, head.find('"', begin) - begin));
}

Result<int64_t> TransferPods(client::Client& client, int64_t page_size) {
  int64_t bytes = 0;
  std::string token;
  do {
    std::string path = "/api/v1/pods?limit=" + std::to_string(page_size);
    if (!token.empty()) path += "&continue=" + token;
    EVENKEEL_ASSIGN(const std::string page, client.GetRaw(path));
    bytes += static_cast<int64_t>(page.size());
    token = ContinueToken(page);
  } while (!token.empty());
  return bytes;
}

Result<int64_t> DecodePods(client::Client& client, int64_t page_size, bool protobuf) {
  client::ListOptions options{.limit = page_size};
  int64_t pods = 0;
  const client::ObjectVisitor count = [&pods](const Json&) { ++pods; };
  do {
    auto read =
        protobuf ? client.Visit(kube::resources::Pods(), options, count) : client.List(kube::resources::Pods(), options);
    EVENKEEL_ASSIGN(const client::ListPage page, std::move(read));
    pods += static_cast<int64_t>(page.items.size());
    options.continue_token = page.continue_token;
  } while (!options.continue_token.empty());
  return pods;
}

/// A value and how long it took, each the median of the rounds.
template <typename Call>
Result<std::pair<int64_t, double>> Timed(int64_t rounds, const Call& call) {
  std::vector<double> seconds;
  int64_t value = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    const base::Instant start = base::SystemClock().Monotonic();
    EVENKEEL_ASSIGN(value, call());
    seconds.push_back(SecondsSince(start));
  }
  return std::pair(value, Median(seconds));
}

/// `protobuf`: a client that asks for protocol buffers. An API server makes them in the first round at the latest, which the
/// median leaves out.
Result<JsonObject> MeasureList(client::Client& json, client::Client& protobuf, int64_t page_size, int64_t rounds) {
  EVENKEEL_ASSIGN(const auto bytes, Timed(rounds, [&] { return TransferPods(json, page_size); }));
  EVENKEEL_ASSIGN(const auto protobuf_bytes, Timed(rounds, [&] { return TransferPods(protobuf, page_size); }));
  EVENKEEL_ASSIGN(const auto pods, Timed(rounds, [&] { return DecodePods(json, page_size, false); }));
  EVENKEEL_ASSIGN(const auto protobuf_pods, Timed(rounds, [&] { return DecodePods(json, page_size, true); }));
  if (pods.first != protobuf_pods.first) return base::Fail(base::Code::kInternal, "JSON and protocol buffers list other pods");
  return JsonObject{{"pods", pods.first},
                    {"bytes", bytes.first},
                    {"page_size", page_size},
                    {"seconds", bytes.second},
                    {"seconds_decoded", pods.second},
                    {"protobuf_bytes", protobuf_bytes.first},
                    {"protobuf_seconds", protobuf_bytes.second},
                    {"protobuf_seconds_decoded", protobuf_pods.second}};
}

/// Counts the watchers that have seen the latest write. Nobody is woken before the last one has, which would be what is
/// measured.
class Audience {
 public:
  explicit Audience(int64_t watchers) : watchers_(watchers) {}

  void Begin(std::string round) {
    std::lock_guard lock(mutex_);
    round_ = std::move(round);
    seen_ = 0;
  }
  void OnEvent(const Result<client::WatchEvent>& event) {
    std::lock_guard lock(mutex_);
    if (!event) {
      error_ = event.error();
    } else if (!round_.empty() && base::FindString(event->object, {"data", "round"}) == round_) {
      ++seen_;
    }
    if (error_ || seen_ >= watchers_) changed_.notify_one();
  }
  base::Status WaitForAll() {
    std::unique_lock lock(mutex_);
    const bool all = changed_.wait_for(lock, std::chrono::seconds(30), [&] { return error_ || seen_ >= watchers_; });
    if (error_) return base::Fail(*error_);
    if (!all) {
      return base::Fail(base::Code::kTimeout,
                        std::to_string(seen_) + " of " + std::to_string(watchers_) + " watchers saw a write within 30 s");
    }
    return {};
  }

 private:
  const int64_t watchers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string round_;
  int64_t seen_ = 0;
  std::optional<base::Error> error_;
};

Json ConfigMapOf(const std::string& name, const std::string& round) {
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", JsonObject{{"name", name}, {"namespace", "default"}}},
                    {"data", JsonObject{{"round", round}}}};
}

Result<JsonObject> MeasureWatch(client::Client& client, int64_t watchers, int64_t writes) {
  const kube::Resource& resource = kube::resources::ConfigMaps();
  const std::string name = "bench-watch";
  EVENKEEL_ASSIGN(const client::ListPage now, client.List(resource, {.ns = "default"}));
  Audience audience(watchers);
  std::vector<std::unique_ptr<client::Watch>> watches;
  const base::Instant opening = base::SystemClock().Monotonic();
  for (int64_t i = 0; i < watchers; ++i) {
    EVENKEEL_ASSIGN(auto watch, client.NewWatch(resource, {.ns = "default", .resource_version = now.resource_version},
                                                [&](Result<client::WatchEvent> event) { audience.OnEvent(event); }));
    watches.push_back(std::move(watch));
  }
  const double opened = SecondsSince(opening);
  if (!client.Create(resource, ConfigMapOf(name, "none"))) {
    EVENKEEL_TRY(client.Update(resource, ConfigMapOf(name, "none")));
  }
  std::vector<double> milliseconds;
  for (int64_t i = 0; i < writes; ++i) {
    const std::string round = std::to_string(i);
    audience.Begin(round);
    const base::Instant start = base::SystemClock().Monotonic();
    EVENKEEL_TRY(client.Update(resource, ConfigMapOf(name, round)));
    EVENKEEL_TRY(audience.WaitForAll());
    milliseconds.push_back(SecondsSince(start) * 1e3);
  }
  audience.Begin("");
  return JsonObject{{"watchers", watchers},
                    {"writes", writes},
                    {"open_seconds", opened},
                    {"median_ms", Median(milliseconds)},
                    {"max_ms", std::ranges::max(milliseconds)}};
}

Result<JsonObject> MeasureVersion(client::Client& client) {
  EVENKEEL_ASSIGN(const std::string text, client.GetRaw("/version"));
  EVENKEEL_ASSIGN(const Json version, base::ParseJson(text, "/version"));
  return JsonObject{{"version", base::FindString(version, {"gitVersion"})}};
}

Result<JsonObject> Measure(const std::vector<std::string>& arguments) {
  const auto number = [&](size_t at, int64_t otherwise) {
    int64_t value = otherwise;
    if (at < arguments.size()) std::from_chars(arguments[at].data(), arguments[at].data() + arguments[at].size(), value);
    return std::max<int64_t>(value, 1);
  };
  EVENKEEL_ASSIGN(client::ConnectionConfig config, client::LoadKubeconfig({.path = arguments[0], .context = ""}));
  EVENKEEL_ASSIGN(const auto client, client::NewHttpClient(config));
  if (arguments[1] == "list") {
    client::HttpClientOptions options;
    options.raw_accept = "application/vnd.kubernetes.protobuf";
    EVENKEEL_ASSIGN(const auto protobuf, client::NewHttpClient(std::move(config), options));
    return MeasureList(*client, *protobuf, number(2, 500), number(3, 3));
  }
  if (arguments[1] == "watch") return MeasureWatch(*client, number(2, 2'000), number(3, 50));
  if (arguments[1] == "version") return MeasureVersion(*client);
  return base::Fail(base::Code::kBadRequest, "no such measurement: " + arguments[1]);
}

}  // namespace
}  // namespace evenkeel::bench

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() < 2) {
    std::cerr << "usage: evenkeel_api_load KUBECONFIG list|watch|version [NUMBER...]\n";
    return 2;
  }
  const auto measured = evenkeel::bench::Measure(arguments);
  if (!measured) {
    std::cerr << "evenkeel_api_load: " << measured.error().message() << "\n";
    return 1;
  }
  std::cout << evenkeel::base::ToText(*measured) << std::endl;
  return 0;
}
