#include "embedded/apiserver/definitions/custom_schema.h"

#include "kube/rules/schema_rules.h"

namespace evenkeel::embedded::apiserver {
namespace {

struct ReadSchema {
  kube::SchemaSet set;
  const kube::Schema* schema = nullptr;
};

std::shared_ptr<const kube::Schema> ReadFrom(const std::string& definition, const std::string& version) {
  const auto read = std::make_shared<ReadSchema>();
  const auto crd = base::ParseJson(definition, "definition");
  // What was served has been read before.
  EVENKEEL_CHECK(crd.has_value());
  for (const base::Json& one : base::FindArray(*crd, {"spec", "versions"})) {
    if (base::FindString(one, {"name"}) != version) continue;
    const base::Json* schema = SchemaIn(one);
    if (schema == nullptr) continue;
    read->schema = kube::SchemaOfStored(*schema, read->set);
    if (read->schema != nullptr) read->set.SetRules(*read->schema, kube::cel::RulesOf(*schema));
  }
  EVENKEEL_CHECK(read->schema != nullptr);
  return {read, read->schema};
}

}  // namespace

const base::Json* SchemaIn(const base::Json& version) { return base::Find(version, {"schema", "openAPIV3Schema"}); }

void RecentSchemas::Add(const CustomSchema& of, std::shared_ptr<const kube::Schema> schema, size_t definition_bytes) {
  std::lock_guard lock(mutex_);
  recent_.push_back({&of, std::move(schema), definition_bytes});
  bytes_ += definition_bytes;
  while (bytes_ > kDefinitionBytesMax && recent_.size() > 1) {
    bytes_ -= recent_.front().definition_bytes;
    recent_.pop_front();
  }
}

void RecentSchemas::Forget(const CustomSchema& of) {
  std::lock_guard lock(mutex_);
  std::erase_if(recent_, [&](const Recent& recent) {
    if (recent.of != &of) return false;
    bytes_ -= recent.definition_bytes;
    return true;
  });
}

store::Value DefinitionText::Get() const {
  std::lock_guard lock(mutex_);
  return text_;
}

void DefinitionText::Replace(store::Value text) {
  std::lock_guard lock(mutex_);
  text_ = std::move(text);
}

std::shared_ptr<const kube::Schema> CustomSchema::Get() const {
  std::lock_guard lock(mutex_);
  if (auto known = read_.lock()) return known;
  const store::Value text = definition_->Get();
  auto read = ReadFrom(*text, version_);
  read_ = read;
  recent_->Add(*this, read, text->size());
  return read;
}

}  // namespace evenkeel::embedded::apiserver
