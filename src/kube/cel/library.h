// Functions that expressions may call: what each takes and gives, what it costs, and what it does.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/cel/type.h"
#include "kube/cel/value.h"

namespace evenkeel::kube::cel {

struct Call {
  Arena& arena;
  std::span<const Value> args;
};
using Implementation = Value (*)(const Call& call);

/// What a call costs, by the sizes of its arguments and of what comes out. Follows: cel-go@v0.26.0
/// interpreter/runtimecost.go, kubernetes@1.36 staging/src/k8s.io/apiserver/pkg/cel/library/cost.go
enum class Cost : uint8_t {
  kOne,
  kTraverse,        ///< a tenth of the first argument's size
  kTraverseTwice,   ///< and as much for what is made of it
  kTraverseResult,  ///< of what comes out, twice
  kEquality,        ///< a tenth of the smaller one
  kConcatenation,   ///< a tenth of both; lists cost one
  kContains,        ///< a tenth of the one times a tenth of the other
  kRegex,           ///< text and pattern
  kMembership,      ///< the size of the list; of a map one
  kScan,            ///< the size of the first argument, which is a list
  kProduct,         ///< of two lists
  kSort,            ///< the square of the list
  kParsedAndOne,    ///< a tenth of a second argument that is a text, and some
  kAccessCheck,
};

struct Overload {
  bool member = false;
  std::vector<const Type*> parameters{};  ///< with the target
  const Type* result = nullptr;
  Implementation run = nullptr;  ///< null: only for the checker
};

struct Function {
  std::string name{};
  Cost cost = Cost::kOne;
  bool any = false;       ///< `run` of the first overload takes whatever there is
  bool foldable = false;  ///< constant where its arguments are
  std::vector<Overload> overloads{};
};

enum class Extension : uint32_t {
  kOptional = 1 << 0,
  kStrings = 1 << 1,        ///< version 2 of the strings extension, with its old formatter
  kStringsLatest = 1 << 2,  ///< with `reverse` and the new formatter
  kSets = 1 << 3,
  kLists = 1 << 4,  ///< of CEL and of Kubernetes
  kRegex = 1 << 5,
  kUrl = 1 << 6,
  kQuantity = 1 << 7,
  kNetwork = 1 << 8,        ///< IP and CIDR as Kubernetes has them
  kNetworkLatest = 1 << 9,  ///< as CEL's own extension has them
  kSemver = 1 << 10,
  kFormat = 1 << 11,
  kMath = 1 << 12,      ///< and base64
  kIncludes = 1 << 14,  ///< of lists in device attributes
  kAuthorizer = 1 << 15,
};
constexpr uint32_t operator|(Extension a, Extension b) { return static_cast<uint32_t>(a) | static_cast<uint32_t>(b); }
constexpr uint32_t operator|(uint32_t a, Extension b) { return a | static_cast<uint32_t>(b); }

/// Immutable once it is complete, and then thread-safe.
class Library {
 public:
  /// CEL's own functions, and extensions: a sum of `Extension`s.
  explicit Library(uint32_t extensions);

  const Function* Find(std::string_view name) const;
  bool Has(Extension extension) const { return (extensions_ & static_cast<uint32_t>(extension)) != 0; }
  TypePool& types() { return types_; }

  /// `signature`: "(string, list(T)) bool" of a function, "string.(int) string" of one that is called on its first argument.
  void Add(std::string_view name, std::string_view signature, Implementation run, Cost cost = Cost::kOne);
  /// The same of one that is the same whenever it is called with the same arguments, and costs more than a look.
  void AddFoldable(std::string_view name, std::string_view signature, Implementation run, Cost cost = Cost::kOne);
  /// All overloads of it are done by this one, which looks at the kinds itself.
  void AddAny(std::string_view name, std::initializer_list<std::string_view> signatures, Implementation run,
              Cost cost = Cost::kOne);

  /// What Kubernetes 1.36 has in each of its environments.
  static constexpr uint32_t kKubernetes = Extension::kOptional | Extension::kStrings | Extension::kSets | Extension::kLists |
                                          Extension::kRegex | Extension::kUrl | Extension::kQuantity | Extension::kNetwork |
                                          Extension::kSemver | Extension::kFormat;
  static const std::shared_ptr<const Library>& Kubernetes();
  /// And the authorizer, for admission.
  static const std::shared_ptr<const Library>& Admission();

 private:
  Function& Slot(std::string_view name, Cost cost);
  void AddOverload(Function& function, std::string_view signature, Implementation run);

  uint32_t extensions_;
  TypePool types_;
  std::map<std::string, Function, std::less<>> functions_;
};

// The parts, each in a file of its own.
void AddOperators(Library& library);
void AddConversions(Library& library);
void AddTimes(Library& library);
void AddOptionals(Library& library);
void AddStrings(Library& library);
void AddLists(Library& library);
void AddKubernetesValues(Library& library);
void AddNetwork(Library& library);
void AddFormats(Library& library);
void AddMath(Library& library);
void AddAuthorizer(Library& library);

/// `format` of strings: the text, or an error. `latest`: as its newest version prints values.
Value FormatText(const Call& call, bool latest);
/// What is wrong with a format and a list of arguments of such types, as far as that can be said beforehand; empty for nothing.
std::string CheckFormatText(std::string_view format, std::span<const Type* const> arguments);
Value OptionalSelect(const Value& target, const Value& key, Arena& arena);
/// `target.name` and `target[key]`; an error where there is none.
Value SelectField(const Value& target, std::string_view name, Arena& arena);
Value Index(const Value& target, const Value& key, Arena& arena);
bool IsZeroValue(const Value& value);

/// "2000-01-01T00:00:00.5Z" and "1.5s".
std::string TimestampText(const Value& value);
std::string DurationText(int64_t nanos);
Value ParseTimestamp(std::string_view text, Arena& arena);
Value ParseDurationText(std::string_view text, Arena& arena);
/// False where it is none; the equals signs at its end may be missing.
bool DecodeBase64(std::string_view text, std::string& out);
/// As Go's %v prints a double.
std::string DoubleText(double value);

}  // namespace evenkeel::kube::cel
