// Zip archives that are checked before a library that trusts them reads them.
#pragma once

#include <string>

namespace kinflow {

/// InputError in one line where a file is no zip archive, is cut, or has an entry whose
/// bytes do not give the recorded size and CRC-32. Entries may be stored or deflated;
/// archives of 4 GiB and more are refused. Says nothing of what the entries mean.
void check_zip_archive(const std::string& path);

}  // namespace kinflow
