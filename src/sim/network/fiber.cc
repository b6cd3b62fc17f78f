#include "sim/network/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace evenkeel::sim {
namespace {

// AddressSanitizer puts red zones between variables, so its frames are several times as large.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kStackBytes = 2 << 20;
#else
constexpr size_t kStackBytes = 256 << 10;
#endif

// AddressSanitizer must know on which stack the program runs; otherwise these do nothing.
void BeforeSwitch([[maybe_unused]] void** leaving, [[maybe_unused]] const void* bottom, [[maybe_unused]] size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(leaving, bottom, size);
#endif
}
void AfterSwitch([[maybe_unused]] void* arrived, [[maybe_unused]] const void** bottom, [[maybe_unused]] size_t* size) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(arrived, bottom, size);
#endif
}

}  // namespace

class Fiber {
 public:
  explicit Fiber(Fibers& owner) : owner_(owner), guard_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* memory =
        mmap(nullptr, kStackBytes + guard_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EVENKEEL_CHECK(memory != MAP_FAILED);
    memory_ = static_cast<char*>(memory);
    // A stack that overflows must end the program here rather than write over its neighbour.
    EVENKEEL_CHECK(mprotect(memory_, guard_, PROT_NONE) == 0);
    EVENKEEL_CHECK(getcontext(&own_) == 0);
    own_.uc_stack.ss_sp = memory_ + guard_;
    own_.uc_stack.ss_size = kStackBytes;
    own_.uc_link = nullptr;
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::Main), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
  }
  ~Fiber() { munmap(memory_, kStackBytes + guard_); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From the outside.
  void Enter() {
    void* leaving = nullptr;
    BeforeSwitch(&leaving, memory_ + guard_, kStackBytes);
    swapcontext(&outside_, &own_);
    AfterSwitch(leaving, nullptr, nullptr);
  }

  // On the fiber.
  void Leave() {
    BeforeSwitch(&fake_stack_, outside_bottom_, outside_size_);
    swapcontext(&own_, &outside_);
    AfterSwitch(fake_stack_, &outside_bottom_, &outside_size_);
  }

  base::Task task;

 private:
  static void Main(unsigned high, unsigned low) {
    auto& self = *reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low);
    AfterSwitch(nullptr, &self.outside_bottom_, &self.outside_size_);
    while (true) {
      self.task();
      self.task = nullptr;
      self.owner_.idle_.push_back(&self);
      self.Leave();
    }
  }

  Fibers& owner_;
  const size_t guard_;
  char* memory_ = nullptr;
  ucontext_t own_{}, outside_{};
  void* fake_stack_ = nullptr;
  const void* outside_bottom_ = nullptr;
  size_t outside_size_ = 0;
};

Fibers::Fibers() = default;

Fibers::~Fibers() { EVENKEEL_CHECK(idle_.size() == all_.size()); }

void Fibers::Run(base::Task task) {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Fiber>(*this));
    idle_.push_back(all_.back().get());
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  fiber.task = std::move(task);
  Enter(fiber);
}

void Fibers::Enter(Fiber& fiber) {
  Fiber* const before = std::exchange(current_, &fiber);
  fiber.Enter();
  current_ = before;
}

void Fibers::Suspend() {
  EVENKEEL_CHECK(current_ != nullptr);
  current_->Leave();
}

void Fibers::Resume(Fiber& fiber) { Enter(fiber); }

}  // namespace evenkeel::sim
