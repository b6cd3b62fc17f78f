#include "embedded/apiserver/access/audit_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <thread>

#include "base/input/file.h"
#include "base/json.h"

namespace evenkeel::embedded::apiserver::audit_log_test {
namespace {

using base::Json;

AuditRecord NewRecord(const std::string& name, int64_t version = 1) {
  AuditRecord record;
  record.id = "11111111-2222-4333-8444-555555555555";
  record.verb = "update";
  record.user = {"alice", {"admins", "people"}};
  record.origin.uri = "/apis/apps/v1/namespaces/n/deployments/" + name;
  record.origin.received = base::Time(std::chrono::seconds(1'700'000'000));
  record.group = "apps";
  record.version = "v1";
  record.plural = "deployments";
  record.ns = "n";
  record.name = name;
  record.resource_version = std::to_string(version);
  record.code = 200;
  record.answered = record.origin.received + std::chrono::milliseconds(5);
  return record;
}

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() {
    EXPECT_NE(mkdtemp(directory.data()), nullptr);
    path = directory + "/audit.log";
  }
  ~AuditLogTest() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<AuditLog> Open(AuditLogOptions options, base::Executor& on) {
    auto opened = AuditLog::Open(std::move(options), on);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message());
    return opened ? *std::move(opened) : nullptr;
  }
  /// The lines of a file, parsed; fails the test where one is not JSON.
  static std::vector<Json> LinesOf(const std::string& file) {
    std::vector<Json> lines;
    const std::string text = base::ReadFile(file).value_or("");
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      EXPECT_NE(end, text.npos) << "half a line";
      auto line = base::ParseJson(std::string_view(text).substr(at, end - at), "line");
      EXPECT_TRUE(line) << text.substr(at, end - at);
      if (line) lines.push_back(*std::move(line));
      if (end == text.npos) break;
      at = end + 1;
    }
    return lines;
  }
  static std::vector<std::string> NamesIn(const std::vector<Json>& lines) {
    std::vector<std::string> names;
    for (const Json& line : lines) names.emplace_back(base::FindString(line, {"objectRef", "name"}));
    return names;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  using Names = std::vector<std::string>;
  base::VirtualExecutor executor{base::Time(std::chrono::seconds(1'700'000'000))};
  std::string directory = (std::filesystem::temp_directory_path() / "evenkeel-audit-XXXXXX").string();
  std::string path;
};

TEST_F(AuditLogTest, WritesEventsInTheShapeOfUpstream) {
  AuditRecord record = NewRecord("web", 17);
  record.subresource = "scale";
  record.uid = "u-1";
  record.epoch = 7;
  record.origin.user_agent = "kubectl/v1.32.0 \"x\"";
  record.origin.address = "127.0.0.1";
  EXPECT_EQ(
      AuditLine(record),
      R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"11111111-2222-4333-8444-555555555555",)"
      R"("stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/n/deployments/web","verb":"update",)"
      R"("user":{"username":"alice","groups":["admins","people"]},"sourceIPs":["127.0.0.1"],)"
      R"("userAgent":"kubectl/v1.32.0 \"x\"",)"
      R"("objectRef":{"resource":"deployments","namespace":"n","name":"web","uid":"u-1","apiGroup":"apps","apiVersion":"v1",)"
      R"("resourceVersion":"17","subresource":"scale"},"responseStatus":{"metadata":{},"code":200},)"
      R"("requestReceivedTimestamp":"2023-11-14T22:13:20.000000Z","stageTimestamp":"2023-11-14T22:13:20.005000Z",)"
      R"("annotations":{"evenkeel.dev/epoch":"7"}})"
      "\n");
  AuditRecord bare;
  bare.plural = "nodes";
  bare.version = "v1";
  bare.code = 403;
  bare.reason = "Forbidden";
  const Json refused = *base::ParseJson(AuditLine(bare), "line");
  EXPECT_EQ(base::ToText(refused.at("objectRef")), R"({"resource":"nodes","apiVersion":"v1"})");
  EXPECT_EQ(base::ToText(refused.at("responseStatus")),
            R"({"metadata":{},"status":"Failure","reason":"Forbidden","code":403})");
  for (const char* absent : {"annotations", "sourceIPs", "userAgent"}) EXPECT_EQ(base::Find(refused, {absent}), nullptr);
}

TEST_F(AuditLogTest, WritesValidTextWhateverWasSent) {
  AuditRecord record = NewRecord("web");
  record.user.name = "j\xc3\xbcrgen";
  record.origin.user_agent = "a\nb";
  EXPECT_NE(AuditLine(record).find("j\xc3\xbcrgen"), std::string::npos);
  EXPECT_EQ(AuditLine(record).find('\n'), AuditLine(record).size() - 1) << "one line";
  record.origin.uri = "/api/\xff";
  const auto line = base::ParseJson(AuditLine(record), "line");
  ASSERT_TRUE(line);
  EXPECT_EQ(base::FindString(*line, {"requestURI"}), "/api/%FF");
}

TEST_F(AuditLogTest, WritesOnItsStrandInTheOrderOfRecords) {
  const auto log = Open({.path = path}, executor);
  for (const char* name : {"a", "b", "c"}) log->Record(NewRecord(name));
  EXPECT_TRUE(LinesOf(path).empty()) << "nobody waits for the disk";
  executor.RunUntilIdle();
  EXPECT_EQ(NamesIn(LinesOf(path)), (Names{"a", "b", "c"}));
  log->Record(NewRecord("d"));
  executor.RunUntilIdle();
  EXPECT_EQ(NamesIn(LinesOf(path)), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
}

TEST_F(AuditLogTest, AppendsToWhatIsThereAndWritesTheRestAtItsEnd) {
  for (const char* name : {"first", "second"}) {
    const auto log = Open({.path = path}, executor);
    log->Record(NewRecord(name));
  }
  EXPECT_EQ(NamesIn(LinesOf(path)), (Names{"first", "second"}));
}

TEST_F(AuditLogTest, MovesAFullFileAsideAndKeepsTheNewest) {
  const auto line = static_cast<int64_t>(AuditLine(NewRecord("000")).size());
  const auto log = Open({.path = path, .bytes_max = 2 * line, .backups_max = 2}, executor);
  ASSERT_TRUE(base::WriteFile(directory + "/audit-notes.log", "mine"));
  Names written;
  for (int i = 0; i < 9; ++i) {
    written.push_back("00" + std::to_string(i));
    log->Record(NewRecord(written.back()));
    executor.RunFor(std::chrono::seconds(1));
  }
  EXPECT_EQ(Files(),
            (Names{"audit-2023-11-14T22-13-26.000.log", "audit-2023-11-14T22-13-28.000.log", "audit-notes.log", "audit.log"}));
  EXPECT_EQ(NamesIn(LinesOf(path)), Names{"008"});
  EXPECT_EQ(NamesIn(LinesOf(directory + "/audit-2023-11-14T22-13-28.000.log")), (Names{"006", "007"}));
  EXPECT_EQ(NamesIn(LinesOf(directory + "/audit-2023-11-14T22-13-26.000.log")), (Names{"004", "005"}));
}

TEST_F(AuditLogTest, MovesFilesOfOneMomentApartAndLosesNoLine) {
  const auto line = static_cast<int64_t>(AuditLine(NewRecord("0")).size());
  {
    const auto log = Open({.path = path, .bytes_max = line}, executor);
    for (int i = 0; i < 8; ++i) log->Record(NewRecord(std::to_string(i)));
  }
  Names all;
  for (const std::string& file : Files()) {
    if (file != "audit.log") std::ranges::copy(NamesIn(LinesOf(directory + "/" + file)), std::back_inserter(all));
  }
  std::ranges::copy(NamesIn(LinesOf(path)), std::back_inserter(all));
  EXPECT_EQ(all, (Names{"0", "1", "2", "3", "4", "5", "6", "7"}));
}

TEST_F(AuditLogTest, WritesALineThatIsLargerThanAFileMayBe) {
  const auto log = Open({.path = path, .bytes_max = 10}, executor);
  log->Record(NewRecord("large"));
  executor.RunUntilIdle();
  EXPECT_EQ(NamesIn(LinesOf(path)), Names{"large"});
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(AuditLogTest, SaysAtOnceThatAPathCannotBe) {
  ASSERT_TRUE(base::WriteFile(directory + "/file", ""));
  const auto opened = AuditLog::Open({.path = directory + "/file/audit.log"}, executor);
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().message().starts_with("the audit log: opening " + directory + "/file/audit.log: "))
      << opened.error().message();
}

TEST_F(AuditLogTest, MakesTheDirectory) {
  path = directory + "/a/b/audit.log";
  Open({.path = path}, executor)->Record(NewRecord("x"));
  EXPECT_EQ(LinesOf(path).size(), 1u);
}

TEST_F(AuditLogTest, LosesLinesOnAFullDiskWithOneWarning) {
  std::filesystem::create_symlink("/dev/full", path);
  const auto log = Open({.path = path, .bytes_max = 10}, executor);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; ++i) {
    log->Record(NewRecord("lost"));
    executor.RunUntilIdle();
  }
  EXPECT_EQ(log->lost(), 5u);
  // The disk is repaired.
  std::filesystem::remove(path);
  log->Record(NewRecord("kept"));
  executor.RunUntilIdle();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("the audit log loses lines"), said.rfind("the audit log loses lines")) << said;
  EXPECT_NE(said.find("the audit log loses lines"), said.npos) << said;
  EXPECT_NE(said.find("No space left on device"), said.npos) << said;
  EXPECT_NE(said.find("lost=5"), said.npos) << said;
  EXPECT_EQ(NamesIn(LinesOf(path)), Names{"kept"});
  EXPECT_TRUE(std::filesystem::exists("/dev/full")) << "what is no file is not moved aside";
}

TEST_F(AuditLogTest, BoundsWhatWaitsForTheDisk) {
  const auto log = Open({.path = path, .waiting_max = 3}, executor);
  for (int i = 0; i < 10; ++i) log->Record(NewRecord(std::to_string(i)));
  EXPECT_EQ(log->lost(), 7u);
  executor.RunUntilIdle();
  EXPECT_EQ(NamesIn(LinesOf(path)), (Names{"0", "1", "2"}));
}

TEST_F(AuditLogTest, KeepsTheLinesOfEachObjectInOrderUnderLoad) {
  constexpr int kThreads = 4, kEach = 2'000;
  const auto pool = base::NewThreadPool(2);
  {
    const auto log = Open({.path = path, .bytes_max = 200'000}, *pool);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 1; i <= kEach; ++i) log->Record(NewRecord("object-" + std::to_string(t), i));
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(log->lost(), 0u);
  }
  std::map<std::string, int64_t> last;
  const Names files = Files();
  EXPECT_GT(files.size(), 1u);
  // By name the moved ones come first, then the present one.
  int lines = 0;
  for (const std::string& file : files) {
    for (const Json& line : LinesOf(directory + "/" + file)) {
      const std::string name(base::FindString(line, {"objectRef", "name"}));
      const int64_t version = std::stoll(std::string(base::FindString(line, {"objectRef", "resourceVersion"})));
      ASSERT_EQ(version, last[name] + 1) << file;
      last[name] = version;
      ++lines;
    }
  }
  EXPECT_EQ(lines, kThreads * kEach);
}

}  // namespace
}  // namespace evenkeel::embedded::apiserver::audit_log_test
