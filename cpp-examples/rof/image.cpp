#include "image.hpp"

#include <fstream>
#include <stdexcept>

[[noreturn]] static void fail(const std::string &path, const std::string &what) { throw std::runtime_error(path + ": " + what); }

// A number of the header; lines that begin with # are comments.
static std::size_t number(std::istream &file, const std::string &path) {
    while (file >> std::ws && file.peek() == '#') file.ignore(1 << 20, '\n');
    std::size_t n = 0;
    if (file.peek() == '-' || !(file >> n)) fail(path, "the header has no number where one must be");
    return n;
}

grey_picture read_pgm(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(path, "cannot be read");
    char magic[2] = {};
    if (!file.read(magic, 2) || magic[0] != 'P' || magic[1] != '5') fail(path, "is no binary PGM: it does not begin with P5");
    grey_picture p{};
    p.cols = number(file, path);
    p.rows = number(file, path);
    const std::size_t greatest = number(file, path), most = std::size_t(1) << 28;
    if (greatest != 255) fail(path, "has levels up to " + std::to_string(greatest) + ", not 255");
    if (p.rows == 0 || p.cols == 0) fail(path, "has no pixels");
    if (p.rows > most / p.cols) fail(path, "is too large");
    file.get(); // one character of white space
    p.pixels.resize(p.rows * p.cols);
    if (!file.read(reinterpret_cast<char *>(p.pixels.data()), std::streamsize(p.pixels.size()))) fail(path, "ends before its last pixel");
    return p;
}

void write_pgm(const std::string &path, const grey_picture &p) {
    std::ofstream file(path, std::ios::binary);
    file << "P5\n" << p.cols << ' ' << p.rows << "\n255\n";
    file.write(reinterpret_cast<const char *>(p.pixels.data()), std::streamsize(p.pixels.size()));
    if (!file.flush()) fail(path, "cannot be written");
}
