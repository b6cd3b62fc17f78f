#include "base/random.h"

#include <bit>
#include <random>

#include "base/hash.h"
#include "base/result.h"

namespace evenkeel::base {
namespace {

uint64_t SplitMix64(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Random::Random(uint64_t seed) : seed_(seed) {
  uint64_t state = seed;
  for (uint64_t& word : state_) word = SplitMix64(state);
}

Random Random::Fork(std::string_view name) const {
  // Mixed before and after, so that forks of forks with exchanged names differ.
  uint64_t state = seed_;
  uint64_t mixed = SplitMix64(state) ^ Fnv1a64(name);
  return Random(SplitMix64(mixed));
}

uint64_t Random::Next() {
  const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

uint64_t Random::Below(uint64_t bound) {
  EVENKEEL_CHECK(bound > 0);
  // The high half of a 128-bit product is uniform once the few values that would favour some results are drawn again.
  const uint64_t unfair = (0 - bound) % bound;
  for (;;) {
    const unsigned __int128 product = static_cast<unsigned __int128>(Next()) * bound;
    if (static_cast<uint64_t>(product) >= unfair) return static_cast<uint64_t>(product >> 64);
  }
}

int64_t Random::Between(int64_t low, int64_t high) {
  EVENKEEL_CHECK(low <= high);
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t offset = span == UINT64_MAX ? Next() : Below(span + 1);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

double Random::Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

Duration Random::Between(Duration low, Duration high) { return Duration(Between(low.count(), high.count())); }

std::string Random::NameSuffix(int length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < length; ++i) suffix += kAlphabet[Below(kAlphabet.size())];
  return suffix;
}

std::string Random::Uuid() {
  static constexpr char kHex[] = "0123456789abcdef";
  const uint64_t words[2] = {(Next() & ~uint64_t{0xf000}) | 0x4000, (Next() & ~(uint64_t{3} << 62)) | uint64_t{2} << 62};
  std::string text;
  text.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    text += kHex[words[i / 16] >> (60 - 4 * (i % 16)) & 15];
  }
  return text;
}

uint64_t EntropySeed() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace evenkeel::base
