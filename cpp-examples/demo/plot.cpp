#include "plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace plot {
namespace {

constexpr double width = 1000, left = 74, right = 24, top = 76, gap = 30, bottom = 58;

// printf into the document
template <class... Args> void put(std::string &out, const char *format, Args... args) {
    char text[512];
    const int length = std::snprintf(text, sizeof text, format, args...);
    out.append(text, std::min<std::size_t>(std::size_t(length), sizeof text - 1));
}

std::string escaped(const std::string &text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    return out;
}

// Where a value stands on the page, and the round values that get a tick: 1, 2 or 5 times a power of ten apart.
struct axis {
    double low, high, from, to, step;

    axis(double least, double greatest, double from, double to, int ticks, bool widen) : low(least), high(greatest), from(from), to(to) {
        const double raw = std::max(high - low, 1e-30) / ticks, power = std::pow(10, std::floor(std::log10(raw)));
        const double digit = raw / power;
        step = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
        if (widen) { // to whole steps; a hair's breadth beyond one does not need another
            low = std::floor(low / step + 0.05) * step;
            high = std::ceil(high / step - 0.05) * step;
        }
    }

    double operator()(double value) const { return from + (value - low) / (high - low) * (to - from); }

    std::vector<double> ticks() const {
        std::vector<double> all;
        for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) all.push_back(k * step);
        return all;
    }
};

struct range {
    double low = std::numeric_limits<double>::infinity(), high = -low;

    void add(const std::vector<float> &values) {
        for (const float v : values) {
            low = std::min<double>(low, v);
            high = std::max<double>(high, v);
        }
    }
};

void text(std::string &out, double x, double y, const char *css, const std::string &what) {
    put(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, css);
    out += escaped(what) + "</text>\n";
}

std::string label(double value) {
    char s[32];
    std::snprintf(s, sizeof s, "%g", value == 0 ? 0 : value);
    return value < 0 ? "\xe2\x88\x92" + std::string(s + 1) : s; // a minus sign, not a hyphen
}

void draw(std::string &out, const line &l, const axis &x, const axis &y) {
    put(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.2f\" stroke-linejoin=\"round\" d=\"", l.colour.c_str(), l.width);
    for (std::size_t i = 0; i < l.x.size(); ++i) {
        if (l.bars) put(out, "M%.2f %.2fV%.2f", x(l.x[i]), y(0), y(l.y[i]));
        else put(out, "%s%.2f %.2f", i == 0 ? "M" : "L", x(l.x[i]), y(l.y[i]));
    }
    out += "\"/>\n";
}

// Names of the lines, from right to left at the panel's upper right corner, outside of the data.
void legend(std::string &out, const panel &p, double y) {
    double x = width - right;
    for (auto l = p.lines.rbegin(); l != p.lines.rend(); ++l) {
        text(out, x, y, "end small", l->name);
        x -= 5.8 * double(l->name.size()) + 21; // about what the fonts need
        put(out, "<path stroke=\"%s\" stroke-width=\"%.2f\" d=\"M%.1f %.1fh-22\"/>\n", l->colour.c_str(), std::max(l->width, 2.0), x, y - 4);
        x -= 42;
    }
}

void draw(std::string &out, const panel &p, const axis &x, double begin) {
    range values;
    for (const line &l : p.lines) values.add(l.y);
    const axis y(values.low, values.high, begin + p.height, begin, p.height < 160 ? 4 : 6, true);
    for (const double t : x.ticks()) put(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x(t), begin, begin + p.height);
    for (const double t : y.ticks()) {
        put(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", left, y(t), width - right);
        text(out, left - 8, y(t) + 4, "end small", label(t));
    }
    for (const line &l : p.lines) draw(out, l, x, y);
    if (y.low < 0 && y.high > 0) put(out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>\n", left, y(0), width - right);
    put(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", left, begin, begin + p.height, width - right);
    put(out, "<g transform=\"translate(20 %.1f) rotate(-90)\">", begin + p.height / 2);
    text(out, 0, 0, "middle", p.y_label);
    out += "</g>\n";
    legend(out, p, begin - 8);
}

} // namespace

std::string svg(const figure &f) {
    double height = top + bottom - gap;
    range times;
    for (const panel &p : f.panels) {
        height += p.height + gap;
        for (const line &l : p.lines) times.add(l.x);
    }
    const axis x(times.low, times.high, left, width - right, 10, false);

    std::string out;
    put(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n", width, height, width,
        height);
    out += "<style>text{font:13px 'Helvetica Neue',Arial,'Liberation Sans',sans-serif;fill:#333}.title{font-size:19px;font-weight:600;"
           "fill:#111}.small{font-size:12px}.end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:#e6e6e6;fill:none}"
           ".axis{stroke:#555;fill:none}</style>\n";
    put(out, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", width, height);
    text(out, left, 28, "title", f.title);
    text(out, left, 48, "small", f.subtitle);
    double begin = top;
    for (const panel &p : f.panels) {
        draw(out, p, x, begin);
        begin += p.height + gap;
    }
    const double end = begin - gap;
    for (const double t : x.ticks()) {
        put(out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>\n", x(t), end);
        text(out, x(t), end + 20, "middle small", label(t));
    }
    text(out, (left + width - right) / 2, end + 42, "middle", f.x_label);
    return out + "</svg>\n";
}

} // namespace plot
