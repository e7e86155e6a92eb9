// SPDX-License-Identifier: Apache-2.0
//
// file    = { rule } ;
// rule    = name ":" tensors "->" tensors [ "where" item { "," item } ] ";" ;
// name    = [ domain "::" ] operator ;
// tensors = [ tensor { "," tensor } ] ;
// tensor  = "_" | "." | "(shape)" | [ "once" ] dim { dim } ;
// dim     = "1" | factor | "(" factor { factor } ")" ;
// factor  = name [ ".." ] [ "^" | "~" | "+" [ "sum" | "prod" | "min" | "max" | "and" | "or" ] ] ;
// item    = name "=" ( attribute | number | '"' reason '"' ) ;
// A comment runs from "#" to the end of the line. The text is UTF-8; what is not ASCII stands in
// comments and reasons only.
#include "rules/rule_notation.h"

#include "model/plain_text.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace shardwright {

namespace {

// Files are hostile input.
constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxTensors = 1024, kMaxDims = 256, kMaxFactors = 4096;

struct Token {
    enum class Kind { Name, Number, Text, Mark, Foreign, End };
    Kind kind = Kind::End;
    std::string text;
    int line = 1, column = 1;
};

bool isNameStart(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
bool isNamePart(char c) {
    return isNameStart(c) || isDigit(c);
}
bool isAscii(char c) {
    return static_cast<unsigned char>(c) < 0x80;
}

class Failure {
public:
    Failure(const Token& at, std::string message) : at(at), message(std::move(message)) {}
    Token at;
    std::string message;
};

/// Lines end with LF, CR LF, or a CR alone.
bool endsLine(std::string_view text, std::size_t at) {
    return text[at] == '\n' ||
           (text[at] == '\r' && (at + 1 == text.size() || text[at + 1] != '\n'));
}

std::string codePoint(std::uint32_t code) {
    char text[16];
    std::snprintf(text, sizeof text, "U+%04X", static_cast<unsigned>(code));
    return text;
}

/// What no editor of text writes: other encodings, binary files.
void checkCharacters(std::string_view text) {
    Token place;
    for (std::size_t at = 0; at < text.size();) {
        const Utf8Character character = firstCharacter(text.substr(at));
        if (character.length == 0) {
            char byte[8];
            std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(text[at]));
            throw Failure(place, std::string("this is not UTF-8 text (byte ") + byte + ")");
        }
        const bool blank = text[at] == '\n' || text[at] == '\r' || text[at] == '\t';
        if ((character.code < 0x20 && !blank) || (character.code >= 0x7F && character.code < 0xA0))
            throw Failure(place, "a file of rules has no control characters (" +
                                     codePoint(character.code) + ")");
        ++place.column;
        if (endsLine(text, at)) {
            ++place.line;
            place.column = 1;
        }
        at += character.length;
    }
}

class Lexer {
public:
    /// Of text that checkCharacters has seen.
    explicit Lexer(std::string_view text) : m_text(text) { m_next = scan(); }

    const Token& peek() const { return m_next; }
    Token take() {
        Token token = std::move(m_next);
        m_next = scan();
        return token;
    }

private:
    char at(std::size_t offset = 0) const {
        return m_at + offset < m_text.size() ? m_text[m_at + offset] : '\0';
    }
    void step() {
        if (endsLine(m_text, m_at)) {
            ++m_line;
            m_column = 1;
        } else if ((static_cast<unsigned char>(at()) & 0xC0) != 0x80) {
            ++m_column;  // Of characters, not of bytes.
        }
        ++m_at;
    }
    bool atLineEnd() const { return m_at < m_text.size() && (at() == '\n' || at() == '\r'); }

    Token scan() {
        while (m_at < m_text.size() &&
               (at() == ' ' || at() == '\t' || at() == '\r' || at() == '\n' || at() == '#'))
            if (at() == '#')
                while (m_at < m_text.size() && !atLineEnd())
                    step();
            else
                step();
        Token token;
        token.line = m_line;
        token.column = m_column;
        if (m_at == m_text.size())
            return token;
        const std::size_t begin = m_at;
        if (isNameStart(at()) || isDigit(at()) || !isAscii(at())) {
            token.kind = isDigit(at()) ? Token::Kind::Number : Token::Kind::Name;
            while (isNamePart(at()) || !isAscii(at()))
                step();
            const std::string_view word = m_text.substr(begin, m_at - begin);
            if (!std::all_of(word.begin(), word.end(), isAscii))
                token.kind = Token::Kind::Foreign;
        } else if (at() == '"') {
            return text(std::move(token));
        } else {
            token.kind = Token::Kind::Mark;
            const std::string_view two = m_text.substr(m_at, 2);
            const bool pair = two == "->" || two == "::" || two == "..";
            step();
            if (pair)
                step();
        }
        token.text = std::string(m_text.substr(begin, m_at - begin));
        return token;
    }

    Token text(Token token) {
        token.kind = Token::Kind::Text;
        step();
        while (m_at < m_text.size() && at() != '"') {
            if (atLineEnd())
                break;
            if (at() == '\\' && (at(1) == '"' || at(1) == '\\'))
                step();
            token.text += at();
            step();
        }
        if (at() != '"')
            throw Failure(token, "a text in double quotes ends on its own line");
        step();
        return token;
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    int m_line = 1, m_column = 1;
    Token m_next;
};

class Parser {
public:
    explicit Parser(std::string_view text) : m_lexer(text) {}

    std::vector<WrittenRule> run() {
        std::vector<WrittenRule> rules;
        while (m_lexer.peek().kind != Token::Kind::End) {
            rules.push_back(rule());
            refuseRepeated(rules.back());
        }
        return rules;
    }

private:
    /// Several rules of one operator are alternatives, of which an equal one is never reached.
    void refuseRepeated(const WrittenRule& rule) {
        std::string text = rule.domain + "::" + rule.op + ":" + writtenText(rule);
        for (const WrittenRule::Factor& factor : rule.factors)
            text += "," + factor.name + "=" + factor.attribute + "=" + std::to_string(factor.size);
        const auto [before, added] = m_rules.try_emplace(std::move(text), rule.line, rule.column);
        if (!added)
            throw Failure({Token::Kind::Name, rule.op, rule.line, rule.column},
                          "the same rule of `" + rule.op + "` is in " +
                              placeText(before->second.first, before->second.second));
    }

    static std::string placeText(int line, int column) {
        return "line " + std::to_string(line) + ", column " + std::to_string(column);
    }

    static std::string shown(const Token& token) {
        if (token.kind == Token::Kind::End)
            return "the end of the file";
        const std::string quoted = "`" + token.text + "`";
        const auto foreign = std::find_if_not(token.text.begin(), token.text.end(), isAscii);
        if (token.kind != Token::Kind::Foreign || foreign == token.text.end())
            return quoted;
        const auto offset = static_cast<std::size_t>(foreign - token.text.begin());
        return quoted + " (names have letters from a to z, digits and `_`, not " +
               codePoint(firstCharacter(std::string_view(token.text).substr(offset)).code) + ")";
    }

    [[noreturn]] static void expected(const Token& found, const std::string& what) {
        throw Failure(found, "expected " + what + ", found " + shown(found));
    }

    bool isMark(const char* mark) const {
        return m_lexer.peek().kind == Token::Kind::Mark && m_lexer.peek().text == mark;
    }
    bool isWord(const char* word) const {
        return m_lexer.peek().kind == Token::Kind::Name && m_lexer.peek().text == word;
    }
    bool skip(const char* mark) {
        if (!isMark(mark))
            return false;
        m_lexer.take();
        return true;
    }
    void need(const char* mark) {
        if (!skip(mark))
            expected(m_lexer.peek(), std::string("`") + mark + "`");
    }
    Token name(const std::string& what) {
        if (m_lexer.peek().kind != Token::Kind::Name)
            expected(m_lexer.peek(), what);
        return m_lexer.take();
    }

    WrittenRule rule() {
        m_rule = {};
        m_numbers.clear();
        m_given.clear();
        m_attributes.clear();
        m_rule.line = m_lexer.peek().line;
        m_rule.column = m_lexer.peek().column;
        operatorName();
        need(":");
        tensors(m_rule.inputs, "->");
        need("->");
        tensors(m_rule.outputs, ";");
        if (isWord("where")) {
            m_lexer.take();
            do
                item();
            while (skip(","));
        }
        if (!isMark(";"))
            expected(m_lexer.peek(), "`where` or `;`");
        m_lexer.take();
        check();
        return std::move(m_rule);
    }

    /// Domains have dots and hyphens: com.example::Foo.
    void operatorName() {
        std::string text = name("the name of an operator").text;
        while (isMark(".") || isMark("-")) {
            text += m_lexer.take().text;
            if (m_lexer.peek().kind != Token::Kind::Name &&
                m_lexer.peek().kind != Token::Kind::Number)
                expected(m_lexer.peek(), "the rest of a domain");
            text += m_lexer.take().text;
        }
        if (skip("::")) {
            m_rule.domain = text == "ai" || text == "ai.onnx" ? std::string() : text;
            m_rule.op = name("the name of an operator").text;
            return;
        }
        if (text.find_first_of(".-") != std::string::npos)
            expected(m_lexer.peek(), "`::` behind the domain");
        m_rule.op = std::move(text);
    }

    void tensors(std::vector<WrittenRule::Tensor>& into, const char* end) {
        if (isMark(end) || isWord("where"))
            return;
        do {
            if (into.size() == kMaxTensors)
                throw Failure(m_lexer.peek(), "a rule has at most 1024 inputs and outputs");
            into.push_back(tensor());
        } while (skip(","));
    }

    WrittenRule::Tensor tensor() {
        WrittenRule::Tensor tensor;
        const Token first = m_lexer.peek();
        if (isWord("_")) {
            m_lexer.take();
            tensor.present = false;
            return tensor;
        }
        if (skip("."))
            return tensor;
        if (isWord("once")) {
            m_lexer.take();
            tensor.once = true;
            if (skip("."))
                return tensor;
        }
        while (startsDim()) {
            if (tensor.dims.size() == kMaxDims)
                throw Failure(m_lexer.peek(), "a tensor has at most 256 dimensions");
            std::vector<int> dim;
            if (skip("(")) {
                if (isWord("shape") && tensor.dims.empty()) {
                    const Token word = m_lexer.take();
                    if (skip(")")) {
                        tensor.shapeOnly = true;
                        return tensor;
                    }
                    dim.push_back(factor(word));
                }
                while (!isMark(")"))
                    dim.push_back(factor(name("a factor or `)`")));
                m_lexer.take();
            } else if (m_lexer.peek().kind == Token::Kind::Number) {
                if (m_lexer.peek().text != "1")
                    expected(m_lexer.peek(), "a factor; a size is given behind `where`");
                m_lexer.take();
            } else {
                dim.push_back(factor(m_lexer.take()));
            }
            tensor.dims.push_back(std::move(dim));
        }
        if (tensor.dims.empty())
            expected(first, "a tensor: its factors, `.`, `_` or `(shape)`");
        return tensor;
    }

    bool startsDim() const {
        const Token& next = m_lexer.peek();
        return (next.kind == Token::Kind::Name && next.text != "where") ||
               next.kind == Token::Kind::Number || isMark("(");
    }

    int factor(const Token& named) {
        // Where dimensions before it vanish, it would come first, and be read as what it means
        // there.
        for (const char* word : {"once", "where", "_"})
            if (named.text == word)
                throw Failure(named, std::string("`") + word +
                                         "` is a word of the notation, not the name of a factor");
        WrittenRule::Factor factor;
        factor.name = named.text;
        factor.line = named.line;
        factor.column = named.column;
        factor.many = skip("..");
        if (skip("^")) {
            factor.kind = FactorKind::Whole;
        } else if (skip("~")) {
            factor.kind = FactorKind::Neighbour;
        } else if (skip("+")) {
            factor.kind = FactorKind::Reduction;
            factor.reduce = reduction(named);
        }
        const auto [known, added] =
            m_numbers.try_emplace(factor.name, static_cast<int>(m_rule.factors.size()));
        if (added) {
            if (m_rule.factors.size() == kMaxFactors)
                throw Failure(named, "a rule has at most 4096 factors");
            m_rule.factors.push_back(std::move(factor));
            return known->second;
        }
        const WrittenRule::Factor& before = m_rule.factors[static_cast<std::size_t>(known->second)];
        if (before.kind != factor.kind || before.reduce != factor.reduce ||
            before.many != factor.many)
            throw Failure(named, "`" + factor.name + "` is marked differently than in " +
                                     placeText(before.line, before.column));
        return known->second;
    }

    /// `k+max`; a name behind it that stands for itself is the next factor.
    ReduceKind reduction(const Token& named) {
        const Token& next = m_lexer.peek();
        const bool attached = next.line == named.line &&
                              next.column == named.column + static_cast<int>(named.text.size()) + 1;
        if (!attached || next.kind != Token::Kind::Name)
            return ReduceKind::Sum;
        for (const ReduceKind kind : {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Min,
                                      ReduceKind::Max, ReduceKind::And, ReduceKind::Or})
            if (reduceKindName(kind) == next.text) {
                m_lexer.take();
                return kind;
            }
        expected(next, "sum, prod, min, max, and, or");
    }

    void item() {
        const Token named = name("a factor");
        const auto known = m_numbers.find(named.text);
        if (known == m_numbers.end())
            throw Failure(named, "no tensor of the rule has a factor `" + named.text + "`");
        WrittenRule::Factor& factor = m_rule.factors[static_cast<std::size_t>(known->second)];
        need("=");
        const Token value = m_lexer.take();
        refuseSecond(known->second, named, value);
        if (value.kind == Token::Kind::Text) {
            if (factor.kind != FactorKind::Whole && factor.kind != FactorKind::Neighbour)
                throw Failure(value, "only a factor marked ^ or ~ has a reason");
            factor.reason = value.text;
        } else if (factor.many) {
            throw Failure(value, "`" + factor.name + "` stands for several dimensions");
        } else if (value.kind == Token::Kind::Name) {
            factor.attribute = value.text;
        } else if (value.kind == Token::Kind::Number) {
            factor.size = number(value);
        } else {
            expected(value, "an attribute, a number or a reason in double quotes");
        }
    }

    /// A factor has one size, and one reason; an attribute names the size of one factor.
    void refuseSecond(int factor, const Token& named, const Token& value) {
        const bool reason = value.kind == Token::Kind::Text;
        const auto [before, added] = m_given.try_emplace({factor, reason}, named);
        if (!added)
            throw Failure(named, std::string(reason ? "the reason" : "the size") + " of `" +
                                     named.text + "` is given in " +
                                     placeText(before->second.line, before->second.column) +
                                     " already");
        if (value.kind != Token::Kind::Name)
            return;
        const auto [other, first] = m_attributes.try_emplace(value.text, named);
        if (!first)
            throw Failure(value, "`" + value.text + "` names the size of `" + other->second.text +
                                     "` already");
    }

    static std::int64_t number(const Token& token) {
        std::int64_t value = 0;
        for (const char c : token.text)
            if (!isDigit(c) || __builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, c - '0', &value))
                throw Failure(token, "`" + token.text + "` is not a size");
        return value;
    }

    Token placeOf(const WrittenRule::Factor& factor) const {
        return {Token::Kind::Name, factor.name, factor.line, factor.column};
    }

    void check() {
        std::vector<bool> in(m_rule.factors.size()), out(m_rule.factors.size());
        std::vector<std::size_t> outputs(m_rule.factors.size());
        for (const auto* tensors : {&m_rule.inputs, &m_rule.outputs})
            for (const WrittenRule::Tensor& tensor : *tensors) {
                std::set<int> own;
                int many = 0;
                for (const auto& dim : tensor.dims)
                    for (const int f : dim) {
                        const auto& factor = m_rule.factors[static_cast<std::size_t>(f)];
                        if (!own.insert(f).second)
                            throw Failure(placeOf(factor),
                                          "`" + factor.name + "` occurs twice in one tensor");
                        if (factor.many && (++many > 1 || dim.size() > 1))
                            throw Failure(placeOf(factor),
                                          "a tensor has one `..` at most, and not inside (...)");
                        (tensors == &m_rule.inputs ? in : out)[static_cast<std::size_t>(f)] = true;
                        outputs[static_cast<std::size_t>(f)] += tensors == &m_rule.outputs ? 1 : 0;
                    }
            }
        for (std::size_t f = 0; f < m_rule.factors.size(); ++f) {
            const auto& factor = m_rule.factors[f];
            if (factor.kind == FactorKind::Parallel && !out[f])
                throw Failure(
                    placeOf(factor),
                    "`" + factor.name +
                        "` is in no output; mark it + where it is summed, ^ where it must "
                        "be whole");
            if (factor.kind == FactorKind::Reduction && outputs[f] == m_rule.outputs.size())
                throw Failure(placeOf(factor),
                              "`" + factor.name + "` is summed, so that some output lacks it");
            if ((factor.kind == FactorKind::Reduction || factor.kind == FactorKind::Neighbour) &&
                !in[f])
                throw Failure(placeOf(factor), "`" + factor.name + "` is in no input");
        }
    }

    Lexer m_lexer;
    WrittenRule m_rule;
    std::map<std::string, int> m_numbers;
    std::map<std::pair<int, bool>, Token> m_given;  ///< By factor: where its size and reason are.
    std::map<std::string, Token> m_attributes;      ///< To the factor whose size it names.
    std::map<std::string, std::pair<int, int>> m_rules;  ///< To line and column.
};

}  // namespace

Result<std::vector<WrittenRule>> parseRules(std::string_view text, const std::string& file) {
    if (text.size() > kMaxBytes)
        return Error{"a file of rules has at most 1 MiB", file};
    if (constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
        text.starts_with(kByteOrderMark))
        text.remove_prefix(kByteOrderMark.size());
    try {
        checkCharacters(text);
        return Parser(text).run();
    } catch (const Failure& failure) {
        return Error{failure.message, file + ":" + std::to_string(failure.at.line) + ":" +
                                          std::to_string(failure.at.column)};
    }
}

std::string writtenText(const WrittenRule& written) {
    Rule rule;
    for (const WrittenRule::Factor& factor : written.factors)
        rule.factors.push_back({factor.name + (factor.many ? ".." : ""), 1, factor.kind,
                                factor.reduce, false, factor.reason});
    const auto add = [](const std::vector<WrittenRule::Tensor>& tensors,
                        std::vector<TensorMap>& maps) {
        for (const WrittenRule::Tensor& tensor : tensors)
            maps.push_back({tensor.present, tensor.shapeOnly, tensor.once, tensor.dims});
    };
    add(written.inputs, rule.inputs);
    add(written.outputs, rule.outputs);
    return rule.text();
}

std::string ruleNotation(const Rule& rule) {
    std::string text = rule.op + ": " + rule.text();
    const char* lead = " where ";
    for (const Factor& factor : rule.factors) {
        text += lead + factor.name + " = " + std::to_string(factor.size);
        lead = ", ";
        if (factor.reason.empty())
            continue;
        text += ", " + factor.name + " = \"";
        // Names of a hostile model need not be text.
        for (const char c : oneLine(factor.reason))
            text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        text += "\"";
    }
    return text + ";\n";
}

}  // namespace shardwright
