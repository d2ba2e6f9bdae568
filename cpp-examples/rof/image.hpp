// Grey pictures in files of the format PGM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct grey_picture {
    std::size_t rows, cols;
    std::vector<std::uint8_t> pixels; // one row after another
};

// A file that begins with "P5", of at most 255 levels and 2^28 pixels. Throws std::runtime_error, with the file, for anything else.
grey_picture read_pgm(const std::string &path);

// Throws std::runtime_error where the file cannot be written.
void write_pgm(const std::string &path, const grey_picture &picture);
