// Line charts as SVG: panels one above the other that share their x axis.
#pragma once

#include <string>
#include <vector>

namespace plot {

struct line {
    std::string name, colour;
    double width;                // in pixels
    std::vector<float> x, y;
    bool bars = false;           // vertical bars from zero instead of a line
};

struct panel {
    std::string y_label;
    std::vector<line> lines;
    double height;               // in pixels
};

struct figure {
    std::string title, subtitle, x_label;
    std::vector<panel> panels;
};

// The figure as an SVG document.
std::string svg(const figure &f);

} // namespace plot
