#include "sim/world/trace.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/input/file.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace evenkeel::sim {
namespace {

using base::Code;

constexpr const char* kNodesFile = "openb_node_list_all_node.csv";
constexpr const char* kTasksFile = "openb_pod_list_default.csv";
/// More in a cell makes no sense and must not overflow in a sum.
constexpr int64_t kNumberMax = 1'000'000'000'000;

/// A CSV file without quotes: a line of column names, then rows.
class Table {
 public:
  static base::Result<Table> Parse(std::string_view text, const std::string& path) {
    Table table;
    table.path_ = path;
    for (std::string_view line : base::Split(text, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      std::vector<std::string> cells;
      for (const std::string_view cell : base::Split(line, ',')) cells.emplace_back(cell);
      table.rows_.push_back(std::move(cells));
    }
    while (!table.rows_.empty() && table.rows_.back() == std::vector<std::string>{""}) table.rows_.pop_back();
    if (table.rows_.size() < 2) return base::Fail(Code::kBadRequest, path + ": there is no row in it");
    for (size_t row = 1; row < table.rows_.size(); ++row) {
      if (table.rows_[row].size() == table.rows_[0].size()) continue;
      return base::Fail(Code::kBadRequest, fmt::format("{}:{}: {} columns where the first line names {}", path, row + 1,
                                                       table.rows_[row].size(), table.rows_[0].size()));
    }
    return table;
  }

  size_t rows() const { return rows_.size() - 1; }

  base::Result<std::string> Text(size_t row, const char* column) const {
    const auto found = std::ranges::find(rows_[0], column);
    if (found == rows_[0].end())
      return base::Fail(Code::kBadRequest, fmt::format("{}:1: there is no column {}", path_, column));
    return rows_[row + 1][static_cast<size_t>(found - rows_[0].begin())];
  }

  /// An empty cell is 0.
  base::Result<int64_t> Number(size_t row, const char* column) const {
    EVENKEEL_ASSIGN(const std::string text, Text(row, column));
    if (text.empty()) return 0;
    const auto number = base::ParseNumber<int64_t>(text);
    if (number && *number >= 0 && *number <= kNumberMax) return *number;
    return base::Fail(Code::kBadRequest, fmt::format("{}:{}: {}: \"{}\" is not a number", path_, row + 2, column, text));
  }

 private:
  std::string path_;
  std::vector<std::vector<std::string>> rows_;
};

std::string NameOf(const TraceShape& shape) {
  std::string model = "cpu";
  if (!shape.model.empty()) model = fmt::format("{}x{}", shape.model, shape.gpus);
  std::ranges::transform(model, model.begin(), [](unsigned char c) { return std::isalnum(c) != 0 ? std::tolower(c) : '-'; });
  const auto whole = [](int64_t amount, int64_t unit, const char* big, const char* small) {
    return amount % unit == 0 ? fmt::format("{}{}", amount / unit, big) : fmt::format("{}{}", amount, small);
  };
  return fmt::format("{}-{}-{}", model, whole(shape.milli_cores, 1000, "c", "m"), whole(shape.mebibytes, 1024, "g", "mi"));
}

base::Result<std::vector<TraceShape>> ParseShapes(std::string_view text, const std::string& path) {
  EVENKEEL_ASSIGN(const Table table, Table::Parse(text, path));
  std::map<std::string, TraceShape> shapes;
  for (size_t row = 0; row < table.rows(); ++row) {
    TraceShape shape;
    EVENKEEL_ASSIGN(shape.milli_cores, table.Number(row, "cpu_milli"));
    EVENKEEL_ASSIGN(shape.mebibytes, table.Number(row, "memory_mib"));
    EVENKEEL_ASSIGN(shape.gpus, table.Number(row, "gpu"));
    EVENKEEL_ASSIGN(shape.model, table.Text(row, "model"));
    shape.name = NameOf(shape);
    ++shapes.try_emplace(shape.name, shape).first->second.nodes;
  }
  std::vector<TraceShape> list;
  for (auto& [name, shape] : shapes) list.push_back(std::move(shape));
  return list;
}

base::Result<std::vector<TraceTask>> ParseTasks(std::string_view text, const std::string& path) {
  EVENKEEL_ASSIGN(const Table table, Table::Parse(text, path));
  std::vector<TraceTask> tasks;
  for (size_t row = 0; row < table.rows(); ++row) {
    TraceTask task;
    EVENKEEL_ASSIGN(task.name, table.Text(row, "name"));
    EVENKEEL_ASSIGN(task.milli_cores, table.Number(row, "cpu_milli"));
    EVENKEEL_ASSIGN(task.mebibytes, table.Number(row, "memory_mib"));
    EVENKEEL_ASSIGN(const int64_t gpus, table.Number(row, "num_gpu"));
    EVENKEEL_ASSIGN(const int64_t share, table.Number(row, "gpu_milli"));
    if (gpus > 0 && share > kNumberMax / gpus) {
      return base::Fail(Code::kBadRequest,
                        fmt::format("{}:{}: gpu_milli: {} GPUs of {} thousandths are too much", path, row + 2, gpus, share));
    }
    task.milli_gpus = gpus * share;
    EVENKEEL_ASSIGN(const std::string models, table.Text(row, "gpu_spec"));
    if (!models.empty()) {
      for (const std::string_view model : base::Split(models, '|')) task.models.emplace_back(model);
    }
    EVENKEEL_ASSIGN(const int64_t created, table.Number(row, "creation_time"));
    EVENKEEL_ASSIGN(const int64_t deleted, table.Number(row, "deletion_time"));
    constexpr int64_t kSecondsMax = 1'000'000'000;
    if (deleted < created || deleted > kSecondsMax) {
      return base::Fail(Code::kBadRequest,
                        fmt::format("{}:{}: deletion_time: {} is not after {}", path, row + 2, deleted, created));
    }
    task.arrives = std::chrono::seconds(created);
    task.leaves = std::chrono::seconds(deleted);
    tasks.push_back(std::move(task));
  }
  std::ranges::sort(tasks, {}, [](const TraceTask& task) { return std::tie(task.arrives, task.name); });
  return tasks;
}

base::Result<std::string> ReadTraceFile(const std::string& path) {
  auto text = base::ReadFile(path);
  if (!text) return base::Fail(Code::kBadRequest, text.error().message() + ": name the folder of the trace (--trace-dir)");
  return *std::move(text);
}

}  // namespace

int64_t Trace::nodes() const {
  int64_t sum = 0;
  for (const TraceShape& shape : shapes) sum += shape.nodes;
  return sum;
}

const std::set<std::string>& TraceKinds() {
  static const std::set<std::string> kinds = {"openb"};
  return kinds;
}

base::Result<Trace> ReadTrace(const std::string& kind, const std::string& directory) {
  if (!TraceKinds().contains(kind)) {
    return base::Fail(Code::kBadRequest, fmt::format("--trace: \"{}\" is not known: there is openb", kind));
  }
  if (directory.empty()) {
    return base::Fail(Code::kBadRequest, fmt::format("trace {}: name the folder with its files (--trace-dir)", kind));
  }
  EVENKEEL_ASSIGN(const std::string nodes, ReadTraceFile(directory + "/" + kNodesFile));
  EVENKEEL_ASSIGN(const std::string tasks, ReadTraceFile(directory + "/" + kTasksFile));
  return ParseOpenbTrace(nodes, tasks, directory);
}

base::Result<Trace> ParseOpenbTrace(std::string_view nodes, std::string_view tasks, const std::string& directory) {
  Trace trace;
  EVENKEEL_ASSIGN(trace.shapes, ParseShapes(nodes, directory + "/" + kNodesFile));
  EVENKEEL_ASSIGN(trace.tasks, ParseTasks(tasks, directory + "/" + kTasksFile));
  return trace;
}

}  // namespace evenkeel::sim
