// Folders of output files that appear with their files or not at all.
#pragma once

#include <functional>
#include <string>

#include "kinflow/core/result_files.h"

namespace kinflow {

/// Makes a folder where it is missing, removes what is `replaced` and calls write(),
/// which puts files into it. InputError where the folder cannot be made; where write()
/// throws, a new folder does not remain.
void fill_folder(const std::string& directory, const std::function<void()>& write,
                 const ResultFiles& replaced = {});

/// Makes a folder that appears with all its files, even where the process is killed
/// meanwhile: write(into) puts them into a folder beside it, which is then renamed.
/// InputError where the folder cannot be made or holds something but what is
/// `replaced`, which goes once all is written.
void make_whole_folder(const std::string& directory,
                       const std::function<void(const std::string& into)>& write,
                       const ResultFiles& replaced = {});

/// InputError where there is no such folder and none can be made. Nothing is changed.
void require_makeable(const std::string& directory);

/// InputError where a file of this name cannot be written: no such folder, no
/// permission, or a folder of that name. Nothing is changed.
void require_writable(const std::string& path);

/// InputError where the folder exists and holds a file or folder that `is_own` does not
/// take for the caller's.
void require_free(const std::string& directory,
                  const std::function<bool(const std::string& name)>& is_own);
/// InputError where the folder exists and holds something but what is `replaced`.
void require_free(const std::string& directory, const ResultFiles& replaced);

}  // namespace kinflow
