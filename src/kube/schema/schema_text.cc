#include "kube/schema/schema_text.h"

#include <cstdio>

#include "base/hash.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace evenkeel::kube {
namespace {

using Type = Schema::Type;

std::vector<std::string> Texts(std::string_view text, char separator) {
  const std::vector<std::string_view> parts = base::Split(text, separator);
  return {parts.begin(), parts.end()};
}

class SchemaTextReader {
 public:
  explicit SchemaTextReader(SchemaLibrary& library) : library_(library) {}

  void Read(const SchemaText& text) {
    file_ = text.name;
    line_ = 0;
    type_ = nullptr;
    std::string_view rest = text.text;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      ++line_;
      ReadLine(rest.substr(0, end));
      rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    }
  }

  /// Points uses of type names to their definitions, once all are known.
  void Resolve() {
    for (const Use& use : uses_) *use.place(library_) = Lookup(use);
    library_.schemas.Seal();
    for (size_t i = 0; i < kinds_.size(); ++i) library_.resources[kinds_[i].first].schema = kinds_[i].second;
  }

 private:
  struct Use {
    std::string package, type, file;
    int line;
    std::function<const Schema**(SchemaLibrary&)> place;
  };

  void Require(bool condition, std::string_view what) const {
    if (condition) return;
    std::fprintf(stderr, "%.*s:%d: %.*s\n", static_cast<int>(file_.size()), file_.data(), line_, static_cast<int>(what.size()),
                 what.data());
    EVENKEEL_CHECK(condition && "a schema text is wrong");
  }

  void ReadLine(std::string_view line) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    const bool indented = line.starts_with(' ');
    while (line.starts_with(' ')) line.remove_prefix(1);
    if (line.empty() || line.starts_with('#')) return;
    std::string description;
    if (const size_t at = line.find(" -- "); at != line.npos) {
      description = line.substr(at + 4);
      line = line.substr(0, at);
    }
    const std::vector<std::string_view> parts = base::SplitWords(line, ' ');
    const std::vector<std::string> words(parts.begin(), parts.end());
    Require(words.size() >= 2, "a line needs at least two words");
    if (indented) return ReadField(words, std::move(description));
    if (words[0] == "package") {
      package_ = words[1];
    } else if (words[0] == "api") {
      Require(words.size() == 3, "api GROUP VERSION");
      group_ = words[1] == "core" ? "" : words[1];
      version_ = words[2];
    } else if (words[0] == "type") {
      BeginType(words[1], std::move(description));
      for (size_t i = 2; i < words.size(); ++i) ReadTypeOption(words[i]);
    } else if (words[0] == "kind") {
      ReadKind(words, std::move(description));
    } else {
      Require(false, "unknown word " + words[0]);
    }
  }

  Schema* NewSchema() {
    Schema* schema = library_.schemas.New();
    schema->native = true;
    return schema;
  }

  void BeginType(const std::string& name, std::string description) {
    Require(!package_.empty(), "no package yet");
    type_ = NewSchema();
    type_->type = Schema::Type::kObject;
    type_->name = name;
    type_->definition = package_ + "." + name;
    type_->description = std::move(description);
    Require(library_.definitions.emplace(type_->definition, type_).second, "defined twice: " + type_->definition);
    by_name_[name].push_back(type_);
  }

  void ReadTypeOption(const std::string& option) {
    if (option == "atomic") {
      type_->atomic_struct = true;
    } else if (option == "open") {
      type_->preserve_unknown = true;
    } else if (option == "raw") {
      type_->raw = true;
    } else if (option == "retain") {
      type_->patch_retain_keys = true;
    } else {
      Require(false, "unknown option " + option);
    }
  }

  void ReadKind(const std::vector<std::string>& words, std::string description) {
    Require(words.size() >= 3 && !version_.empty(), "kind KIND PLURAL after an api line");
    BeginType(words[1], std::move(description));
    Resource resource;
    resource.group = group_;
    resource.version = version_;
    resource.kind = words[1];
    resource.plural = words[2];
    resource.storage_group = group_.empty() ? words[2] : group_ + "/" + words[2];
    resource.singular = base::Lower(words[1]);
    for (size_t i = 3; i < words.size(); ++i) ReadKindOption(words[i], resource);
    kinds_.emplace_back(library_.resources.size(), type_);
    library_.resources.push_back(std::move(resource));
    ReadField({"apiVersion", "string"}, "Group and version of the API that this object follows.");
    ReadField({"kind", "string"}, "Kind of this object.");
    ReadField({"metadata", "ObjectMeta", "@1"}, "Name, labels and what else all objects have.");
  }

  void ReadKindOption(const std::string& option, Resource& resource) {
    const size_t equals = option.find('=');
    const std::string key = option.substr(0, equals);
    const std::string value = equals == option.npos ? "" : option.substr(equals + 1);
    if (key == "short") {
      resource.short_names = Texts(value, ',');
    } else if (key == "cat") {
      resource.categories = Texts(value, ',');
    } else if (key == "sub") {
      resource.subresources = Texts(value, ',');
    } else if (key == "storage") {
      resource.storage_group = value;
    } else if (key == "cluster") {
      resource.namespaced = false;
    } else if (key == "review") {
      resource.review = true;
    } else {
      Require(false, "unknown option " + option);
    }
  }

  void ReadField(const std::vector<std::string>& words, std::string description) {
    Require(type_ != nullptr, "a field outside a type");
    for (const Schema::FieldSchema& field : type_->fields) Require(field.name != words[0], "field twice: " + words[0]);
    type_->fields.push_back({});
    Schema* owner = type_;
    const size_t index = owner->fields.size() - 1;
    Schema::FieldSchema& field = owner->fields.back();
    field.name = words[0];
    field.description = std::move(description);
    field.zero_is_absent = true;
    Schema* inline_schema = ReadType(words[1], [owner, index](SchemaLibrary&) { return &owner->fields[index].schema; });
    if (inline_schema != nullptr) field.schema = inline_schema;
    for (size_t i = 2; i < words.size(); ++i) ReadFieldOption(words[i], field, inline_schema);
  }

  /// A schema of its own for an inline type; null for a type's name, which `place` will get later.
  Schema* ReadType(std::string_view text, std::function<const Schema**(SchemaLibrary&)> place) {
    if (text.starts_with("[]") || text.starts_with("map[")) {
      const bool map = text.starts_with('m');
      if (map) Require(text.ends_with(']'), "map[T] lacks its ]");
      Schema* schema = NewSchema();
      schema->type = map ? Type::kMap : Type::kArray;
      const std::string_view inner = map ? text.substr(4, text.size() - 5) : text.substr(2);
      Schema* item = ReadType(inner, [schema](SchemaLibrary&) { return &schema->item; });
      if (item != nullptr) schema->item = item;
      return schema;
    }
    if (const size_t bar = text.find('|'); bar != text.npos) return ReadAlternative(text.substr(0, bar), text.substr(bar + 1));
    static const std::map<std::string_view, std::pair<Type, std::string_view>> kPrimitives = {
        {"string", {Type::kString, ""}},
        {"int32", {Type::kInteger, "int32"}},
        {"int64", {Type::kInteger, "int64"}},
        {"number", {Type::kNumber, "double"}},
        {"bool", {Type::kBoolean, ""}},
        {"intOrString", {Type::kIntOrString, ""}},
        {"quantity", {Type::kQuantity, ""}},
        {"time", {Type::kTime, ""}},
        {"microTime", {Type::kMicroTime, ""}},
        {"bytes", {Type::kBytes, ""}},
        {"any", {Type::kAny, ""}}};
    if (auto found = kPrimitives.find(text); found != kPrimitives.end()) {
      Schema* schema = NewSchema();
      schema->type = found->second.first;
      schema->format = found->second.second;
      return schema;
    }
    uses_.push_back({package_, std::string(text), std::string(file_), line_, std::move(place)});
    return nullptr;
  }

  Schema* ReadAlternative(std::string_view type, std::string_view other) {
    Schema* schema = NewSchema();
    schema->alternative = other == "[]"         ? Schema::Alternative::kList
                          : other == "bool"     ? Schema::Alternative::kBoolean
                          : other == "[]string" ? Schema::Alternative::kStrings
                                                : Schema::Alternative::kNone;
    Require(schema->alternative != Schema::Alternative::kNone, "unknown alternative " + std::string(other));
    Require(ReadType(type, [schema](SchemaLibrary&) { return &schema->alternative_to; }) == nullptr,
            "an alternative is to a named type");
    return schema;
  }

  /// @N, @N.M or @N.M.K, and each with a question mark.
  void ReadNumber(std::string_view word, Schema::FieldSchema& field, const Schema* schema) {
    const bool pointer = word.ends_with('?');
    const std::string numbers(word.substr(1, word.size() - 1 - (pointer ? 1 : 0)));
    std::string_view rest = numbers;
    for (uint32_t* number : {&field.number, &field.inner, &field.innermost}) {
      if (rest.empty()) break;
      const size_t dot = rest.find('.');
      *number = static_cast<uint32_t>(Number(std::string(rest.substr(0, dot))));
      Require(*number > 0, "not a field number: " + numbers);
      rest = dot == rest.npos ? "" : rest.substr(dot + 1);
    }
    Require(field.number > 0 && rest.empty(), "not a field number: " + numbers);
    const auto differ = [](uint32_t a, uint32_t b) { return a != b && a > 0 && b > 0; };
    for (const Schema::FieldSchema& other : type_->fields) {
      Require(&other == &field || other.number == 0 || differ(other.number, field.number) || differ(other.inner, field.inner) ||
                  differ(other.innermost, field.innermost),
              "number twice: " + numbers);
    }
    const bool nothing_when_empty =
        schema != nullptr && (schema->type == Type::kArray || schema->type == Type::kMap || schema->type == Type::kBytes);
    field.written_when_absent = !pointer && !nothing_when_empty;
  }

  void ReadFieldOption(const std::string& word, Schema::FieldSchema& field, Schema* schema) {
    if (word == "!") {
      field.required = true;
    } else if (word == "*") {
      field.documented_required = true;
    } else if (word.starts_with('@')) {
      ReadNumber(word, field, schema);
    } else if (word.starts_with('=')) {
      boost::system::error_code error;
      field.default_value = boost::json::parse(word.substr(1), error);
      Require(!error, "default is not JSON: " + word);
    } else {
      Require(schema != nullptr, "option " + word + " on a named type: put it on the type");
      ReadSchemaOption(word, *schema);
    }
  }

  void ReadSchemaOption(const std::string& word, Schema& schema) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == word.npos ? "" : word.substr(equals + 1);
    if (word.starts_with("enum(") && word.ends_with(')')) {
      for (const std::string& one : Texts(std::string_view(word).substr(5, word.size() - 6), '|')) {
        schema.enum_values.emplace_back(one);
      }
    } else if (key == "min") {
      schema.minimum = Number(value);
    } else if (key == "max") {
      schema.maximum = Number(value);
    } else if (key == "map" || key == "list") {
      Require(schema.type == Schema::Type::kArray, word + " is for lists");
      if (key == "map") schema.list_keys = Texts(value, ',');
      schema.list_type = key == "map"     ? Schema::ListType::kMap
                         : value == "set" ? Schema::ListType::kSet
                                          : Schema::ListType::kAtomic;
    } else if (key == "merge") {
      schema.patch_merge = true;
      schema.patch_merge_key = value;
    } else if (word == "retain") {
      schema.patch_retain_keys = true;
    } else if (word == "atomic") {
      schema.atomic_struct = true;
    } else if (word == "embedded") {
      schema.embedded_resource = true;
    } else {
      Require(false, "unknown option " + word);
    }
  }

  double Number(const std::string& text) const {
    const auto number = base::ParseNumber<double>(text);
    Require(number.has_value(), "not a number: " + text);
    return *number;
  }

  const Schema* Lookup(const Use& use) {
    file_ = use.file;
    line_ = use.line;
    if (auto found = library_.definitions.find(use.package + "." + use.type); found != library_.definitions.end()) {
      return found->second;
    }
    const auto named = by_name_.find(use.type);
    Require(named != by_name_.end(), "unknown type " + use.type);
    Require(named->second.size() == 1, "ambiguous type " + use.type);
    return named->second[0];
  }

  SchemaLibrary& library_;
  std::string_view file_;
  int line_ = 0;
  std::string package_, group_, version_;
  Schema* type_ = nullptr;
  std::map<std::string, std::vector<Schema*>> by_name_;
  std::vector<Use> uses_;
  std::vector<std::pair<size_t, const Schema*>> kinds_;
};

}  // namespace

void ReadSchemaTexts(const std::vector<SchemaText>& texts, SchemaLibrary& library) {
  SchemaTextReader reader(library);
  for (const SchemaText& text : texts) reader.Read(text);
  reader.Resolve();
}

const SchemaLibrary& BuiltInSchemas() {
  static const SchemaLibrary* const kLibrary = [] {
    auto* library = new SchemaLibrary;
    ReadSchemaTexts(BuiltInSchemaTexts(), *library);
    return library;
  }();
  return *kLibrary;
}

uint64_t DigestOfBuiltInSchemas() {
  static const uint64_t kDigest = [] {
    uint64_t digest = 0;
    for (const SchemaText& text : BuiltInSchemaTexts()) digest = base::XxHash64(text.text, digest);
    return digest;
  }();
  return kDigest;
}

const Schema* FindBuiltInSchema(std::string_view definition) {
  const auto& definitions = BuiltInSchemas().definitions;
  const auto found = definitions.find(definition);
  return found == definitions.end() ? nullptr : found->second;
}

const Schema* FindKindSchema(std::string_view api_version, std::string_view kind) {
  constexpr std::string_view kMetaPackage = "io.k8s.apimachinery.pkg.apis.meta.";
  const size_t slash = api_version.find('/');
  const std::string_view group = slash == api_version.npos ? "" : api_version.substr(0, slash);
  const std::string rest = std::string(api_version.substr(slash == api_version.npos ? 0 : slash + 1)) + "." + std::string(kind);
  const auto find = [&](const std::string& package) -> const Schema* {
    const Schema* schema = FindBuiltInSchema(package + rest);
    return schema != nullptr && schema->FindField("kind") != nullptr && schema->FindField("apiVersion") != nullptr ? schema
                                                                                                                   : nullptr;
  };
  if (group == "meta.k8s.io") return find(std::string(kMetaPackage));
  if (group == "apiregistration.k8s.io") return find("io.k8s.kube-aggregator.pkg.apis.apiregistration.");
  if (group == "apiextensions.k8s.io") return find("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.");
  if (group.empty()) {
    const Schema* schema = find("io.k8s.api.core.");
    return schema != nullptr ? schema : find(std::string(kMetaPackage));
  }
  // A package is called by the first part of its group: rbac.authorization.k8s.io is io.k8s.api.rbac.
  return find("io.k8s.api." + std::string(group.substr(0, group.find('.'))) + ".");
}

}  // namespace evenkeel::kube
