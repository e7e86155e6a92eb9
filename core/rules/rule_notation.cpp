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
// A comment runs from "#" to the end of the line.
#include "rules/rule_notation.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardwright {

namespace {

// Files are hostile input.
constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxTensors = 1024, kMaxDims = 256, kMaxFactors = 4096;

struct Token {
    enum class Kind { Name, Number, Text, Mark, End };
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

class Failure {
public:
    Failure(const Token& at, std::string message) : at(at), message(std::move(message)) {}
    Token at;
    std::string message;
};

class Lexer {
public:
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
        if (at() == '\n') {
            ++m_line;
            m_column = 1;
        } else if ((static_cast<unsigned char>(at()) & 0xC0) != 0x80) {
            ++m_column;  // Of characters, not of bytes.
        }
        ++m_at;
    }

    Token scan() {
        while (m_at < m_text.size() &&
               (at() == ' ' || at() == '\t' || at() == '\r' || at() == '\n' || at() == '#'))
            if (at() == '#')
                while (m_at < m_text.size() && at() != '\n')
                    step();
            else
                step();
        Token token;
        token.line = m_line;
        token.column = m_column;
        if (m_at == m_text.size())
            return token;
        const std::size_t begin = m_at;
        if (isNameStart(at())) {
            token.kind = Token::Kind::Name;
            while (isNamePart(at()))
                step();
        } else if (isDigit(at())) {
            token.kind = Token::Kind::Number;
            while (isNamePart(at()))
                step();
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
            if (at() == '\n')
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
        while (m_lexer.peek().kind != Token::Kind::End)
            rules.push_back(rule());
        return rules;
    }

private:
    static std::string shown(const Token& token) {
        return token.kind == Token::Kind::End ? "the end of the file" : "`" + token.text + "`";
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
            throw Failure(named, "`" + factor.name + "` is marked differently than in line " +
                                     std::to_string(before.line) + ", column " +
                                     std::to_string(before.column));
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
};

}  // namespace

Result<std::vector<WrittenRule>> parseRules(std::string_view text, const std::string& file) {
    if (text.size() > kMaxBytes)
        return Error{"a file of rules has at most 1 MiB", file};
    try {
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
        for (const char c : factor.reason)
            text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
        text += "\"";
    }
    return text + ";\n";
}

}  // namespace shardwright
