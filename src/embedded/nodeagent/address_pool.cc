#include "embedded/nodeagent/address_pool.h"

#include <charconv>

#include "base/parse_number.h"

namespace evenkeel::embedded::nodeagent {
namespace {

std::optional<uint32_t> ParseAddress(std::string_view text) {
  uint32_t address = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (at == end || *at++ != '.') return std::nullopt;
    }
    uint32_t number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc() || number > 255) return std::nullopt;
    at = parsed.ptr;
    address = address << 8 | number;
  }
  return at == end ? std::optional(address) : std::nullopt;
}

std::string FormatAddress(uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

}  // namespace

base::Result<AddressPool> AddressPool::Parse(std::string_view cidr) {
  const size_t slash = cidr.find('/');
  const auto address = ParseAddress(cidr.substr(0, slash));
  const int prefix = slash == cidr.npos ? 0 : base::ParseNumber<int>(cidr.substr(slash + 1)).value_or(0);
  if (!address || prefix < 8 || prefix > 30) {
    return base::Fail(base::Code::kInvalid,
                      fmt::format("\"{}\" is not an IPv4 range from /8 to /30, such as 127.10.1.0/24", cidr));
  }
  const uint32_t size = 1u << (32 - prefix);
  const uint32_t network = *address & ~(size - 1);
  AddressPool pool;
  pool.first_ = network + 2;
  pool.last_ = network + size - 2;
  pool.next_ = pool.first_;
  return pool;
}

std::optional<std::string> AddressPool::Allocate() {
  const uint32_t count = last_ - first_ + 1;
  if (taken_.size() >= count) return std::nullopt;
  while (taken_.contains(next_)) next_ = next_ == last_ ? first_ : next_ + 1;
  const uint32_t address = next_;
  taken_.insert(address);
  next_ = next_ == last_ ? first_ : next_ + 1;
  return FormatAddress(address);
}

bool AddressPool::Reserve(std::string_view address) {
  const auto parsed = ParseAddress(address);
  if (!parsed || *parsed < first_ || *parsed > last_) return false;
  return taken_.insert(*parsed).second;
}

void AddressPool::Release(std::string_view address) {
  if (const auto parsed = ParseAddress(address)) taken_.erase(*parsed);
}

}  // namespace evenkeel::embedded::nodeagent
