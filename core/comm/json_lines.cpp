// SPDX-License-Identifier: Apache-2.0
#include "comm/json_lines.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace shardwright {

namespace {

constexpr std::size_t kMostLevels = 64;

/// Characters of a text; tells how far the last reader is.
class CountedText {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountedText(const char* at, const char** seen) : m_at(at), m_seen(seen) {}
    reference operator*() const { return *m_at; }
    CountedText& operator++() {
        *m_seen = ++m_at;
        return *this;
    }
    CountedText operator++(int) {
        CountedText before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountedText& other) const { return m_at == other.m_at; }
    bool operator!=(const CountedText& other) const { return m_at != other.m_at; }

private:
    const char* m_at;
    const char** m_seen;
};

/// Follows the way to each value and keeps the place of the longest part of the wanted one.
class LineFinder : public nlohmann::json_sax<nlohmann::ordered_json> {
public:
    LineFinder(std::string pointer, const char** seen)
        : m_pointer(std::move(pointer)), m_seen(seen), m_found(*seen) {}
    const char* found() const { return m_found; }
    const char* problem() const { return m_problem; }

    bool null() override { return value(); }
    bool boolean(bool) override { return value(); }
    bool number_integer(number_integer_t) override { return value(); }
    bool number_unsigned(number_unsigned_t) override { return value(); }
    bool number_float(number_float_t, const string_t&) override { return value(); }
    bool string(string_t&) override { return value(); }
    bool binary(binary_t&) override { return value(); }
    bool start_object(std::size_t) override { return open(false); }
    bool start_array(std::size_t) override { return open(true); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        m_levels.back().path = m_levels.back().base + "/" + name;
        look(m_levels.back().path);
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
        m_problem = *m_seen;
        return false;
    }

private:
    struct Level {
        std::string base, path;
        bool list = false;
        std::size_t next = 0;
    };

    void look(const std::string& path) {
        const bool around = m_pointer.compare(0, path.size(), path) == 0 &&
                            (m_pointer.size() == path.size() || m_pointer[path.size()] == '/');
        if (around && path.size() > m_length) {
            m_length = path.size();
            m_found = *m_seen;
        }
    }
    std::string begin() {
        if (m_levels.empty())
            return {};
        Level& level = m_levels.back();
        if (level.list) {
            level.path = level.base + "/" + std::to_string(level.next++);
            look(level.path);
        }
        return level.path;
    }
    bool value() {
        begin();
        return true;
    }
    bool open(bool list) {
        if (m_levels.size() == kMostLevels) {
            m_problem = *m_seen;
            return false;
        }
        const std::string base = begin();
        m_levels.push_back({base, base, list, 0});
        return true;
    }
    bool close() {
        m_levels.pop_back();
        return true;
    }

    const std::string m_pointer;
    const char** m_seen;
    const char* m_found;
    const char* m_problem = nullptr;
    std::size_t m_length = 0;
    std::vector<Level> m_levels;
};

int lineAt(std::string_view text, const char* at) {
    return 1 +
           static_cast<int>(std::count(text.data(), std::min(at, text.data() + text.size()), '\n'));
}

}  // namespace

std::optional<nlohmann::ordered_json> parseJsonWithLine(std::string_view text, int& line) {
    const char* seen = text.data();
    LineFinder finder("", &seen);
    nlohmann::ordered_json::sax_parse(CountedText(text.data(), &seen),
                                      CountedText(text.data() + text.size(), &seen), &finder);
    if (finder.problem()) {
        line = lineAt(text, std::max(text.data(), finder.problem() - 1));
        return std::nullopt;
    }
    return nlohmann::ordered_json::parse(text, nullptr, false);
}

int jsonLineOf(std::string_view text, const std::string& pointer) {
    const char* seen = text.data();
    LineFinder finder(pointer, &seen);
    nlohmann::ordered_json::sax_parse(CountedText(text.data(), &seen),
                                      CountedText(text.data() + text.size(), &seen), &finder);
    return lineAt(text, std::max(text.data(), finder.found() - 1));
}

}  // namespace shardwright
