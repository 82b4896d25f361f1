// Tolerant reading of records, and numbers in prose.
#include "kinflow/pages/record_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace kinflow {
namespace {

const nlohmann::json* find(const nlohmann::json& record, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  return record.contains(place) ? &record.at(place) : nullptr;
}

}  // namespace

nlohmann::json found_at(const nlohmann::json& record, const std::string& pointer) {
  const auto* found = find(record, pointer);
  return found == nullptr ? nlohmann::json() : *found;
}

double number_at(const nlohmann::json& record, const std::string& pointer,
                 double otherwise) {
  const auto* found = find(record, pointer);
  return found != nullptr && found->is_number() ? found->get<double>() : otherwise;
}

std::string text_at(const nlohmann::json& record, const std::string& pointer,
                    const std::string& otherwise) {
  const auto* found = find(record, pointer);
  return found != nullptr && found->is_string() ? found->get<std::string>() : otherwise;
}

bool flag_at(const nlohmann::json& record, const std::string& pointer) {
  const auto* found = find(record, pointer);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::vector<std::string> texts_at(const nlohmann::json& record,
                                  const std::string& pointer) {
  std::vector<std::string> texts;
  const auto* found = find(record, pointer);
  if (found == nullptr || !found->is_array()) return texts;
  for (const auto& entry : *found) {
    if (entry.is_string()) texts.push_back(entry.get<std::string>());
  }
  return texts;
}

nlohmann::json flattened(const nlohmann::json& record) {
  auto rows = nlohmann::json::array();
  const auto add = [&](const auto& self, const nlohmann::json& value,
                       const std::string& path) -> void {
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        self(self, inner, path.empty() ? key : path + "/" + key);
      }
      return;
    }
    auto text =
        value.is_string()
            ? value.get<std::string>()
            : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    constexpr std::size_t kLongest = 2000;
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
    rows.push_back({path, text});
  };
  add(add, record, "");
  return rows;
}

std::string file_content(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double cell_number(std::string_view cell) {
  double value = std::numeric_limits<double>::quiet_NaN();
  const auto result = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return result.ec == std::errc() ? value : std::numeric_limits<double>::quiet_NaN();
}

std::string with_commas(double count) {
  if (!std::isfinite(count)) return "?";
  const auto digits = fmt::format("{:.0f}", std::abs(count));
  std::string text = count < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string in_prose(double value, int digits) {
  if (!std::isfinite(value)) return "?";
  if (std::abs(value) >= 1e4 && std::abs(value) < 1e15) return with_commas(value);
  auto text = fmt::format("{:.{}g}", value, digits);
  if (text[0] == '-') text.replace(0, 1, "\u2212");
  return text;
}

std::string p_in_prose(double log10_p) {
  if (!std::isfinite(log10_p)) return "?";
  if (log10_p < 3) return fmt::format("{:.2g}", std::pow(10, -log10_p));
  double exponent = std::ceil(log10_p);
  double mantissa = std::pow(10, exponent - log10_p);
  if (mantissa >= 9.95) {  // 9.96e-4 is 1.0e-3
    mantissa /= 10;
    --exponent;
  }
  std::string power;
  for (const char digit : fmt::format("{:.0f}", exponent)) {
    static constexpr const char* kDigits[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3",
                                              "\u2074", "\u2075", "\u2076", "\u2077",
                                              "\u2078", "\u2079"};
    power += kDigits[digit - '0'];
  }
  return fmt::format("{:.1f}\u00a0\u00d7\u00a010\u207b{}", mantissa, power);
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  if (names.empty()) return "none";
  std::string text = names[0];
  const auto shown = names.size() > most ? most - 1 : names.size();
  for (std::size_t i = 1; i < shown; ++i) {
    text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (shown < names.size()) {
    text += fmt::format(" and {} more", names.size() - shown);
  }
  return text;
}

std::string name_in_quotes(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 128;
  });
  return is_plain ? "\u2018" + name + "\u2019" : "\u2018\u2068" + name + "\u2069\u2019";
}

std::string last_name(const std::string& path) {
  auto name = std::filesystem::path(path);
  if (!name.has_filename()) name = name.parent_path();
  const auto text = name.filename().string();
  if (!text.empty() && text != "." && text != "..") return text;
  std::error_code ignored;
  const auto whole = std::filesystem::canonical(path, ignored).filename().string();
  return whole.empty() ? path : whole;
}

}  // namespace kinflow
