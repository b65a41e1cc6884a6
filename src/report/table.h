// Tables for people, drawn by libsmartcols (the library behind lsblk and findmnt): columns fit the
// terminal, long cells are cut there and whole in a pipe.
#pragma once

#include <string>
#include <vector>

namespace fuseproof {

struct Column {
  enum class Align : unsigned char { kLeft, kRight };
  std::string title;
  Align align = Align::kLeft;
  // May be cut when the terminal is too narrow; other columns never are.
  enum class Cut : unsigned char { kNever, kAllowed };
  Cut cut = Cut::kNever;
};

// The table as text, one line a row, with a line of titles. Each row has as many cells as columns.
std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace fuseproof
