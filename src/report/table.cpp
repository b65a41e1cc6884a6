#include "report/table.h"

#include <libsmartcols/libsmartcols.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace fuseproof {
namespace {

void require(bool holds) {
  if (!holds) throw Error(ErrorKind::kInternal, "libsmartcols could not build a table");
}

using Table = std::unique_ptr<libscols_table, void (*)(libscols_table*)>;

Table new_table() {
  Table table(scols_new_table(), scols_unref_table);
  require(table != nullptr);
  // In a pipe the width does not matter and nothing is cut.
  if (::isatty(STDOUT_FILENO) == 0) {
    scols_table_set_termforce(table.get(), SCOLS_TERMFORCE_NEVER);
  }
  return table;
}

}  // namespace

std::string format_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows) {
  const Table table = new_table();
  for (const Column& column : columns) {
    int flags = column.align == Column::Align::kRight ? SCOLS_FL_RIGHT : 0;
    if (column.cut == Column::Cut::kAllowed) flags |= SCOLS_FL_TRUNC;
    require(scols_table_new_column(table.get(), column.title.c_str(), 0, flags) != nullptr);
  }
  for (const std::vector<std::string>& row : rows) {
    libscols_line* line = scols_table_new_line(table.get(), nullptr);
    require(line != nullptr);
    for (std::size_t i = 0; i < row.size(); ++i) {
      require(scols_line_set_data(line, i, row[i].c_str()) == 0);
    }
  }
  char* text = nullptr;
  require(scols_print_table_to_string(table.get(), &text) == 0);
  const std::unique_ptr<char, void (*)(void*)> owner(text, std::free);
  std::string result = text;
  if (!result.ends_with('\n')) result += '\n';
  return result;
}

}  // namespace fuseproof
