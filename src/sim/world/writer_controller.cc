#include "sim/world/writer_controller.h"

#include "base/parse_number.h"

namespace evenkeel::sim {
namespace {

using base::Json;

constexpr char kNamespace[] = "default";
constexpr char kName[] = "simulation";
constexpr base::Duration kPeriodMin = std::chrono::seconds(2);
constexpr base::Duration kPeriodMax = std::chrono::seconds(4);

using Acknowledged = std::function<void(const std::string&, const std::string&, int64_t)>;

TestRecord Decode(const Json& object) {
  TestRecord record;
  record.author = base::FindString(object, {"data", "author"});
  record.counter = base::ParseNumber<int64_t>(base::FindString(object, {"data", "counter"})).value_or(record.counter);
  return record;
}

class WriterController final : public controllers::runtime::MemberController {
 public:
  WriterController(controllers::runtime::Member& member, std::string author, base::Random random, Acknowledged acknowledged)
      : member_(member), author_(std::move(author)), random_(random), acknowledged_(std::move(acknowledged)) {
    Schedule();
  }

 private:
  void Schedule() {
    timer_ = member_.strand()->PostAfter(random_.Between(kPeriodMin, kPeriodMax), [this] {
      Write();
      Schedule();
    });
  }

  void Write() {
    const auto& resource = kube::resources::ConfigMaps();
    auto present = member_.client().Get(resource, kNamespace, kName);
    if (!present && present.error().code() != base::Code::kNotFound) return;
    const bool exists = present.has_value();
    Json object = exists ? *std::move(present) : kube::NewObject(resource, kNamespace, kName);
    const int64_t counter = Decode(object).counter + 1;
    base::Ensure(object, {"data", "author"}) = author_;
    base::Ensure(object, {"data", "counter"}) = std::to_string(counter);
    const auto written = exists ? member_.client().Update(resource, object) : member_.client().Create(resource, object);
    if (written) acknowledged_(member_.name(), author_, counter);
  }

  controllers::runtime::Member& member_;
  const std::string author_;
  base::Random random_;
  const Acknowledged acknowledged_;
  base::Timer timer_;
};

}  // namespace

bool IsTestWorkload(const ApiWrite& write) { return write.Is("configmaps", kNamespace, kName); }

TestRecord DecodeTestRecord(const embedded::store::Value& value) {
  if (value == nullptr) return {};
  const auto object = base::ParseJson(*value, kName);
  return object ? Decode(*object) : TestRecord{};
}

controllers::runtime::MemberControllerFactory NewWriterController(std::string author, base::Random random,
                                                                  Acknowledged acknowledged) {
  return [author = std::move(author), random, acknowledged = std::move(acknowledged)](controllers::runtime::Member& member) {
    return std::make_unique<WriterController>(member, author, random.Fork(member.name()), acknowledged);
  };
}

}  // namespace evenkeel::sim
