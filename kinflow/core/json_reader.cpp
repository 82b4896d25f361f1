// Checks of presence, type and range.
#include "kinflow/core/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "kinflow/core/error.h"

namespace kinflow {
namespace {

constexpr int kDeepest = 100;

std::string shown(const nlohmann::json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  auto text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return text;
}

bool is_integer_in(const nlohmann::json& value, std::int64_t low, std::int64_t high) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
    return false;
  const auto number = value.get<std::int64_t>();
  return number >= low && number <= high;
}

bool is_number_in(const nlohmann::json& value, double low, double high) {
  if (!value.is_number()) return false;
  const auto number = value.get<double>();
  return std::isfinite(number) && number >= low && number <= high;
}

// What is wrong with a text that is no JSON, in plain words.
// @param end  bytes up to the mistake
std::string first_mistake(std::string_view text, std::size_t end) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) return "nothing";
  const auto before = text.substr(0, end);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  return end > text.size() ? fmt::format("a text that breaks off in line {}", line)
                           : fmt::format("a mistake in line {}", line);
}

}  // namespace

JsonReader::JsonReader(const nlohmann::json& object, std::string source,
                       std::string prefix)
    : json_(object), source_(std::move(source)), prefix_(std::move(prefix)) {
  if (!json_.is_object()) {
    throw InputError(fmt::format("{}: expected a JSON object{}, found {}", source_,
                                 prefix_.empty() ? "" : " for '" + prefix_ + "'",
                                 shown(json_)));
  }
}

void JsonReader::fail(const std::string& key, const std::string& expected,
                      const std::string& found) const {
  const auto place = prefix_.empty() ? key : prefix_ + "." + key;
  throw InputError(fmt::format("{}: key '{}': expected {}, found {}", source_, place,
                               expected, found));
}

const nlohmann::json& JsonReader::value(const std::string& key) const {
  const auto found = json_.find(key);
  if (found == json_.end()) fail(key, "a value", "none");
  return *found;
}

JsonReader JsonReader::object(const std::string& key) const {
  return {value(key), source_, prefix_.empty() ? key : prefix_ + "." + key};
}

std::string JsonReader::text(const std::string& key) const {
  const auto& found = value(key);
  if (!found.is_string()) fail(key, "a text", shown(found));
  return found.get<std::string>();
}

bool JsonReader::boolean(const std::string& key) const {
  const auto& found = value(key);
  if (!found.is_boolean()) fail(key, "true or false", shown(found));
  return found.get<bool>();
}

std::int64_t JsonReader::integer(const std::string& key, std::int64_t low,
                                 std::int64_t high) const {
  const auto& found = value(key);
  if (!is_integer_in(found, low, high)) {
    fail(key, fmt::format("an integer from {} to {}", low, high), shown(found));
  }
  return found.get<std::int64_t>();
}

std::uint64_t JsonReader::seed(const std::string& key) const {
  const auto& found = value(key);
  if (!found.is_number_unsigned()) fail(key, "an integer from 0", shown(found));
  return found.get<std::uint64_t>();
}

double JsonReader::number(const std::string& key, double low, double high) const {
  const auto& found = value(key);
  if (!is_number_in(found, low, high)) {
    fail(key, fmt::format("a number from {} to {}", low, high), shown(found));
  }
  return found.get<double>();
}

template <typename Read>
auto JsonReader::list(const std::string& key, const Read& read) const {
  const auto& found = value(key);
  if (!found.is_array()) fail(key, "a list", shown(found));
  std::vector<decltype(read(found))> values;
  values.reserve(found.size());
  for (const auto& element : found) values.push_back(read(element));
  return values;
}

std::vector<JsonReader> JsonReader::objects(const std::string& key) const {
  const auto place = prefix_.empty() ? key : prefix_ + "." + key;
  return list(key, [&](const nlohmann::json& element) {
    return JsonReader(element, source_, place);
  });
}

std::vector<std::string> JsonReader::texts(const std::string& key) const {
  return list(key, [&](const nlohmann::json& element) {
    if (!element.is_string()) fail(key, "a list of texts", shown(element));
    return element.get<std::string>();
  });
}

std::vector<double> JsonReader::numbers(const std::string& key, double low,
                                        double high) const {
  return list(key, [&](const nlohmann::json& element) {
    if (!is_number_in(element, low, high)) {
      fail(key, fmt::format("numbers from {} to {}", low, high), shown(element));
    }
    return element.get<double>();
  });
}

std::vector<std::int64_t> JsonReader::integers(const std::string& key, std::int64_t low,
                                               std::int64_t high) const {
  return list(key, [&](const nlohmann::json& element) {
    if (!is_integer_in(element, low, high)) {
      fail(key, fmt::format("integers from {} to {}", low, high), shown(element));
    }
    return element.get<std::int64_t>();
  });
}

nlohmann::json parse_json(const std::string& text, const std::string& source) {
  using Event = nlohmann::json::parse_event_t;
  bool too_deep = false;
  std::vector<std::set<std::string>> keys_of_open_objects;
  std::optional<std::string> twice;
  const auto watch = [&](int depth, Event event, const nlohmann::json& parsed) {
    if (depth > kDeepest) too_deep = true;
    if (too_deep) return false;
    if (event == Event::object_start) keys_of_open_objects.emplace_back();
    if (event == Event::object_end) keys_of_open_objects.pop_back();
    if (event == Event::key) {
      const auto key = parsed.get<std::string>();
      if (!keys_of_open_objects.back().insert(key).second && !twice) twice = key;
    }
    return true;
  };
  try {
    auto json = nlohmann::json::parse(text, watch);
    if (twice && !too_deep) {
      throw InputError(
          fmt::format("{}: expected every key of an object once, found {} twice",
                      source, shown(*twice)));
    }
    if (!too_deep) return json;
  } catch (const nlohmann::json::parse_error& error) {
    throw InputError(fmt::format("{}: expected JSON, found {}", source,
                                 first_mistake(text, error.byte)));
  } catch (const nlohmann::json::exception&) {
    throw InputError(source + ": expected JSON, found a number that is too large");
  }
  throw InputError(source + ": expected JSON, found one nested too deeply");
}

}  // namespace kinflow
