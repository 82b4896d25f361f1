// Folders of images: one for each person, or one with a table of ids.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "kinflow/core/counted.h"
#include "kinflow/core/error.h"
#include "kinflow/core/in_quotes.h"
#include "kinflow/core/input_file.h"
#include "kinflow/data/table.h"
#include "kinflow/data/text_lines.h"
#include "kinflow/images/image_sources.h"
#include "kinflow/images/list_names.h"
#include "kinflow/images/read_image.h"

namespace kinflow {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const std::string& name) { return name.starts_with('.'); }

bool is_named_as_image(const std::string& name) {
  static constexpr std::array<std::string_view, 3> kEndings = {".png", ".jpg", ".jpeg"};
  const auto lower = lower_case(name);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](auto ending) { return lower.ends_with(ending); });
}

/// What a folder holds, hidden files apart.
struct FolderContent {
  std::vector<std::string> folders, images, others;  // names, sorted
};

/// Names stand in messages, and those of folders become ids.
void check_name(const std::string& name, const std::string& folder) {
  if (is_printable_utf8(name)) return;
  throw InputError(fmt::format("{}: expected printable names in UTF-8, found {}",
                               folder, in_quotes(name)));
}

FolderContent content_of_folder(const std::string& path) {
  FolderContent content;
  try {
    for (const auto& entry : fs::directory_iterator(path)) {
      const auto name = entry.path().filename().string();
      if (is_hidden(name)) {
        content.others.push_back(name);
      } else if (entry.is_directory()) {
        check_name(name, path);
        content.folders.push_back(name);
      } else if (!is_named_as_image(name)) {
        content.others.push_back(name);
      } else if (entry.is_regular_file()) {
        check_name(name, path);
        content.images.push_back(name);
      } else {
        throw InputError(fmt::format(
            "{}: expected a file with an image, found a device or a broken link",
            entry.path().string()));
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw InputError(
        fmt::format("{}: cannot read the folder ({})", path, error.code().message()));
  }
  for (auto* names : {&content.folders, &content.images, &content.others}) {
    std::sort(names->begin(), names->end());
  }
  return content;
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

void add_joined(const std::string& folder, const std::vector<std::string>& names,
                std::vector<std::string>& to) {
  for (const auto& name : names) to.push_back(joined(folder, name));
}

bool is_link(const std::string& path) {
  std::error_code error;
  const bool is_symlink = fs::is_symlink(path, error);
  if (!error) return is_symlink;
  throw InputError(
      fmt::format("{}: cannot read the folder ({})", path, error.message()));
}

/// All images below a folder, by their names relative to it.
void find_images_below(const std::string& root, const std::string& folder,
                       std::vector<std::string>& images, ImageReport& report) {
  const auto content = content_of_folder(joined(root, folder));
  add_joined(folder, content.images, images);
  add_joined(folder, content.others, report.ignored);
  for (const auto& name : content.folders) {
    // A link to a folder may lead back to where it stands.
    const auto below = joined(folder, name);
    if (is_link(joined(root, below))) {
      report.ignored.push_back(below);
    } else {
      find_images_below(root, below, images, report);
    }
  }
}

void require_images(const ImageSource& source, const ImageRequest& request,
                    const ImageReport& report) {
  if (!source.files.empty()) return;
  throw InputError(fmt::format(
      "{}: expected a folder with .png, .jpg or .jpeg files{}, found none of them{}",
      request.path, request.ids.empty() ? " in a folder for each person" : "",
      report.ignored.empty() ? "" : " but " + first_names(report.ignored)));
}

void load_from_files(ImageSource& source, const std::string& root) {
  source.name = [root, files = source.files](std::int64_t image) {
    return joined(root, files[static_cast<std::size_t>(image)]);
  };
  source.bytes = [name = source.name](std::int64_t image) {
    return read_whole_file(name(image));
  };
  source.decode = [name = source.name](const std::string& bytes, std::int64_t image) {
    return decode_image(bytes, name(image));
  };
}

/// The person of each file of a table. InputError for a file in two rows.
std::unordered_map<std::string, std::string> people_of_files(
    const Table& table, const ImageRequest& request) {
  const auto files = labels(table, request.file_column);
  const auto people = labels(table, request.person_column);
  std::unordered_map<std::string, std::string> person_of;
  for (std::size_t row = 0; row < files.size(); ++row) {
    if (person_of.emplace(files[row], people[row]).second) continue;
    throw InputError(fmt::format(
        "{}:{}: expected every file once, found {} again", table.source(),
        table.line_of_row(static_cast<std::int64_t>(row)), in_quotes(files[row])));
  }
  return person_of;
}

}  // namespace

ImageSource images_in_person_folders(const ImageRequest& request, ImageReport& report) {
  const auto root = content_of_folder(request.path);
  if (!root.images.empty() && !root.folders.empty()) {
    throw InputError(
        fmt::format("{}: expected images in folders of people only, found {} beside "
                    "the folders: {}",
                    request.path, root.images.size(), first_names(root.images)));
  }
  if (!root.images.empty()) {
    throw InputError(fmt::format(
        "{}: expected a folder for each person, or a table of ids (--ids), found {} "
        "and no folders",
        request.path, counted(root.images.size(), "image")));
  }
  report.ignored = root.others;
  ImageSource source;
  for (const auto& person : root.folders) {
    const auto content = content_of_folder(joined(request.path, person));
    if (!content.folders.empty()) {
      throw InputError(
          fmt::format("{}: expected images of one person, found folders in it: {}",
                      joined(request.path, person), first_names(content.folders)));
    }
    if (content.images.empty()) report.empty_folders.push_back(person);
    add_joined(person, content.images, source.files);
    add_joined(person, content.others, report.ignored);
    source.person_of_image.resize(source.files.size(), person);
  }
  require_images(source, request, report);
  load_from_files(source, request.path);
  return source;
}

ImageSource images_of_table(const ImageRequest& request, ImageReport& report) {
  ImageSource source;
  find_images_below(request.path, "", source.files, report);
  std::sort(source.files.begin(), source.files.end());
  require_images(source, request, report);
  const auto table = read_table(request.ids);
  auto person_of = people_of_files(table, request);
  std::vector<std::string> without_row;
  for (const auto& file : source.files) {
    const auto found = person_of.find(file);
    if (found == person_of.end()) {
      without_row.push_back(file);
      continue;
    }
    source.person_of_image.push_back(std::move(found->second));
    person_of.erase(found);
  }
  if (!person_of.empty()) {
    std::vector<std::string> without_file;
    for (const auto& [file, person] : person_of) without_file.push_back(file);
    std::sort(without_file.begin(), without_file.end());
    throw InputError(
        fmt::format("{}: expected files below {} in column {}, found {} of {} that are "
                    "not there: {}",
                    request.ids, request.path, in_quotes(request.file_column),
                    without_file.size(), table.rows(), first_names(without_file)));
  }
  if (!without_row.empty()) {
    throw InputError(fmt::format(
        "{}: expected a row for every image below {}, found none for {} of {}: {}",
        request.ids, request.path, without_row.size(), source.files.size(),
        first_names(without_row)));
  }
  load_from_files(source, request.path);
  return source;
}

}  // namespace kinflow
