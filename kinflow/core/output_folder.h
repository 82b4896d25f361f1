// Folders of output files that appear with their files or not at all.
#pragma once

#include <functional>
#include <string>

namespace kinflow {

/// Makes a folder where it is missing and calls write(), which puts files into it.
/// InputError where the folder cannot be made; where write() throws, a new folder does
/// not remain.
void fill_folder(const std::string& directory, const std::function<void()>& write);

}  // namespace kinflow
