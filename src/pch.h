// Precompiled for every file of the project: headers that nearly all of them need and that take long to parse.
// Beast, Asio, gRPC and SQLite are deliberately absent; only the few files that wrap them pay for them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>
#include <boost/json.hpp>
