// Reading JSON that somebody else may have written: every key is checked for presence,
// type and range.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kinflow {

/// A JSON object of a file. Every failure is an InputError of the form
/// "SOURCE: key 'a.b': expected ..., found ...".
class JsonReader {
 public:
  /// @param object  must outlive the reader and be an object, else InputError
  /// @param prefix  path of the object inside the file, for messages
  JsonReader(const nlohmann::json& object, std::string source, std::string prefix = "");

  /// The object itself.
  const nlohmann::json& json() const { return json_; }
  JsonReader object(const std::string& key) const;
  /// A list of objects.
  std::vector<JsonReader> objects(const std::string& key) const;
  std::string text(const std::string& key) const;
  bool boolean(const std::string& key) const;
  std::int64_t integer(const std::string& key, std::int64_t low,
                       std::int64_t high) const;
  std::uint64_t seed(const std::string& key) const;
  /// Finite and within [low, high].
  double number(const std::string& key, double low, double high) const;
  std::vector<std::string> texts(const std::string& key) const;
  std::vector<double> numbers(const std::string& key, double low, double high) const;
  std::vector<std::int64_t> integers(const std::string& key, std::int64_t low,
                                     std::int64_t high) const;
  /// The value that belongs to a text among (name, value) pairs.
  template <typename Names>
  auto one_of(const std::string& key, const Names& names) const {
    const auto given = text(key);
    std::string known;
    for (const auto& [name, value] : names) {
      if (name == given) return value;
      known += (known.empty() ? "" : ", ") + name;
    }
    fail(key, "one of " + known, "'" + given + "'");
  }

 private:
  const nlohmann::json& value(const std::string& key) const;
  [[noreturn]] void fail(const std::string& key, const std::string& expected,
                         const std::string& found) const;
  template <typename Read>
  auto list(const std::string& key, const Read& read) const;

  const nlohmann::json& json_;
  std::string source_;
  std::string prefix_;
};

/// Parses a JSON text; InputError "SOURCE: expected JSON, ..." where it is none, nested
/// deeper than a hundred levels, or an object in it has a key twice.
nlohmann::json parse_json(const std::string& text, const std::string& source);

}  // namespace kinflow
