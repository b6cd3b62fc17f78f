// Counts in a node of ZooKeeper until it gets SIGTERM, and checks that nothing that was acknowledged is ever lost.
//   evenkeel_zookeeper_counter HOST:PORT,HOST:PORT,... PATH
// One line per acknowledged write, "ACK value milliseconds"; the last line is "END value longest-stall-in-milliseconds".
// Ends with 1 as soon as it reads something else than what has been acknowledged, or than the one write that nobody answered.
#include <signal.h>
// Its calls that wait are only there for programs with threads.
#define THREADED
#include <zookeeper/zookeeper.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

volatile sig_atomic_t stopped = 0;

constexpr auto kPause = 25ms;
constexpr int kSessionMilliseconds = 4000;

class Counter {
 public:
  Counter(std::string hosts, std::string path) : hosts_(std::move(hosts)), path_(std::move(path)) {}
  ~Counter() { Close(); }

  int Run() {
    last_ = Clock::now();
    while (stopped == 0) {
      if (!Connected()) continue;
      // After anything that was not answered, what is there says whether it was done.
      if (!settled_ && !Settle()) continue;
      if (wrong_) return 1;
      const std::string text = std::to_string(value_ + 1);
      const int code = zoo_set(handle_, path_.c_str(), text.data(), static_cast<int>(text.size()), -1);
      if (code != ZOK) {
        settled_ = false;
        continue;
      }
      Acknowledged();
      if (!ReadBack()) settled_ = false;
      if (wrong_) return 1;
      std::this_thread::sleep_for(kPause);
    }
    std::printf("END %lld %lld\n", static_cast<long long>(value_), static_cast<long long>(longest_.count()));
    return 0;
  }

 private:
  bool Connected() {
    if (handle_ != nullptr && is_unrecoverable(handle_) == ZINVALIDSTATE) Close();
    if (handle_ == nullptr) {
      handle_ = zookeeper_init2(
          hosts_.c_str(), [](zhandle_t*, int, int, const char*, void*) {}, kSessionMilliseconds, nullptr, nullptr, 0,
          [](const char*) {});
      settled_ = false;
    }
    if (handle_ != nullptr && zoo_state(handle_) == ZOO_CONNECTED_STATE) return true;
    std::this_thread::sleep_for(kPause);
    return false;
  }

  void Close() {
    if (handle_ != nullptr) zookeeper_close(handle_);
    handle_ = nullptr;
  }

  bool Settle() {
    // A server that lags behind must not answer for all.
    if (Sync() != ZOK) return false;
    long long found = 0;
    int code = Read(found);
    if (code == ZNONODE && value_ == 0) {
      code = zoo_create(handle_, path_.c_str(), "0", 1, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0);
      if (code != ZOK && code != ZNODEEXISTS) return false;
      code = Read(found);
    }
    if (code == ZNONODE) return Wrong("nothing", value_);
    if (code != ZOK) return false;
    if (!started_) value_ = found;
    started_ = true;
    if (found != value_ && found != value_ + 1) return Wrong(std::to_string(found), value_);
    if (found == value_ + 1) Acknowledged();
    settled_ = true;
    return true;
  }

  int Sync() {
    struct Done {
      std::mutex mutex;
      std::condition_variable changed;
      bool done = false;
      int code = ZOK;
    } done;
    const int sent = zoo_async(
        handle_, path_.c_str(),
        [](int code, const char*, const void* data) {
          auto* ended = static_cast<Done*>(const_cast<void*>(data));
          const std::lock_guard lock(ended->mutex);
          ended->code = code;
          ended->done = true;
          ended->changed.notify_all();
        },
        &done);
    if (sent != ZOK) return sent;
    std::unique_lock lock(done.mutex);
    done.changed.wait(lock, [&] { return done.done; });
    return done.code == ZNONODE ? ZOK : done.code;
  }

  int Read(long long& found) {
    char buffer[32];
    int size = sizeof buffer - 1;
    const int code = zoo_get(handle_, path_.c_str(), 0, buffer, &size, nullptr);
    if (code != ZOK) return code;
    buffer[size < 0 ? 0 : size] = '\0';
    found = std::atoll(buffer);
    return ZOK;
  }

  bool ReadBack() {
    long long found = 0;
    if (Read(found) != ZOK) return false;
    return found == value_ || Wrong(std::to_string(found), value_);
  }

  void Acknowledged() {
    ++value_;
    const auto now = Clock::now();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - last_);
    if (acknowledged_ && took > longest_) longest_ = took;
    acknowledged_ = true;
    last_ = now;
    std::printf("ACK %lld %lld\n", static_cast<long long>(value_), static_cast<long long>(took.count()));
    std::fflush(stdout);
  }

  bool Wrong(const std::string& found, long long wanted) {
    std::printf("LOST found %s, acknowledged %lld\n", found.c_str(), wanted);
    std::fflush(stdout);
    wrong_ = true;
    return true;
  }

  const std::string hosts_, path_;
  zhandle_t* handle_ = nullptr;
  long long value_ = 0;
  bool started_ = false, settled_ = false, wrong_ = false, acknowledged_ = false;
  Clock::time_point last_;
  std::chrono::milliseconds longest_{0};
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s HOST:PORT,... PATH\n", arguments[0]);
    return 2;
  }
  struct sigaction action{};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  return Counter(arguments[1], arguments[2]).Run();
}
