// Looking things up in records that somebody else may have written: what is missing or
// of another type counts as not known.
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kinflow {

/// What a JSON pointer leads to; null where it leads nowhere.
nlohmann::json found_at(const nlohmann::json& record, const std::string& pointer);
double number_at(const nlohmann::json& record, const std::string& pointer,
                 double otherwise = std::numeric_limits<double>::quiet_NaN());
std::string text_at(const nlohmann::json& record, const std::string& pointer,
                    const std::string& otherwise = "");
bool flag_at(const nlohmann::json& record, const std::string& pointer);
/// Those of a list that are texts.
std::vector<std::string> texts_at(const nlohmann::json& record,
                                  const std::string& pointer);
/// Every value with its path, {"train/epochs", "100"}, for a table.
nlohmann::json flattened(const nlohmann::json& record);

/// The bytes of a regular file; empty where there is none that can be read.
std::string file_content(const std::string& path);

/// The number that a cell begins with; NaN where there is none.
double cell_number(std::string_view cell);

/// "1,234,567".
std::string with_commas(double count);
/// A number with up to four significant digits, as prose has it.
std::string in_prose(double value, int digits = 3);
/// "0.42", "below 10^-300": -log10 of a p-value in words.
std::string p_in_prose(double log10_p);
/// "a, b and c"; beyond `most` "a, b and 5 more".
std::string listed(const std::vector<std::string>& names, std::size_t most = 6);
/// A name in quotation marks, which does not turn around what follows it.
std::string name_in_quotes(const std::string& name);
/// "train.csv" of a path.
std::string last_name(const std::string& path);

}  // namespace kinflow
