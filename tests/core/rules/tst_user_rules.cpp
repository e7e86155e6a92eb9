// SPDX-License-Identifier: Apache-2.0
#include "rule_fixture.h"

#include "rules/rule_notation.h"
#include "rules/user_rules.h"
#include "support/shared_files.h"

#include <QFile>
#include <QTest>

#include <set>

using namespace shardwright;
using namespace shardwright::test;
using T = onnx::TensorProto;

namespace {

/// The error of a file of rules, or "fine".
QString errorOf(const std::string& text) {
    const auto rules = parseRules(text, "r.txt");
    return QString::fromStdString(rules ? "fine" : rules.error().text());
}

/// The rule that `text` gives the last node.
Rule ruled(const ModelBuilder& builder, const std::string& text) {
    const auto registry = withUserRules(Registry::standard(), text, "r.txt");
    if (!registry)
        qFatal("%s", registry.error().text().c_str());
    const auto model = builder.model();
    const auto shapes = ShapeTable::build(model, {});
    const auto rules = RuleTable::build(model, shapes, {}, **registry);
    return *rules->of(model->graph().main().nodes.back());
}

QString ruledText(const ModelBuilder& builder, const std::string& text) {
    const Rule rule = ruled(builder, text);
    return QString::fromStdString(rule.known ? rule.text() : "fallback: " + rule.strictReason);
}

ModelBuilder custom(const std::vector<Shape>& inputs, const Shape& output,
                    const std::vector<Attribute>& attributes = {}) {
    ModelBuilder model;
    model.opset("com.example", 1);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        names.push_back("x" + std::to_string(i));
        model.input(names.back(), inputs[i]);
    }
    return model.output("y", output).op("Foo", names, {"y"}, "foo", attributes, "com.example");
}

bool sameFactors(const Rule& a, const Rule& b) {
    const auto same = [](const Factor& x, const Factor& y) {
        return x.name == y.name && x.size == y.size && x.kind == y.kind && x.reduce == y.reduce &&
               x.reason == y.reason;
    };
    // Reading numbers them by where they occur first.
    if (a.factors.size() != b.factors.size())
        return false;
    for (const Factor& factor : a.factors) {
        const Factor* other = factorNamed(b, factor.name);
        if (other == nullptr || !same(factor, *other))
            return false;
    }
    return a.text() == b.text();
}

}  // namespace

class TstUserRules : public QObject {
    Q_OBJECT

private slots:
    void aRuleIsAppliedToTheShapesOfANode() {
        const Rule rule =
            ruled(custom({{4, 8}, {8, 6}}, {4, 6}), "com.example::Foo: m k+, k+ n -> m n;");
        QCOMPARE(rule.text(), std::string("m k+, k+ n -> m n"));
        QCOMPARE(rule.factors[1].size, std::int64_t{8});
        QCOMPARE(rule.family, std::string("user"));
        QVERIFY(!rule.strict);
        QCOMPARE(rule.op, std::string("com.example::Foo"));
    }
    void sizesComeFromAttributesNumbersAndShapes() {
        const ModelBuilder model = custom({{2, 5, 24}}, {2, 5, 24}, {{"num_heads", 3}});
        const Rule rule = ruled(model, "com.example::Foo: b s (h d^) -> b s (h d^) "
                                       "where h = num_heads, d = \"because\";");
        QCOMPARE(rule.text(), std::string("b s (h d^) -> b s (h d^)"));
        QCOMPARE(factorNamed(rule, "h")->size, std::int64_t{3});
        QCOMPARE(factorNamed(rule, "d")->size, std::int64_t{8});
        QCOMPARE(factorNamed(rule, "d")->reason, std::string("because"));
        QCOMPARE(rewritesText(rule), QStringLiteral("LocalAttribute num_heads *h"));
        QCOMPARE(
            factorNamed(ruled(model, "com.example::Foo: b s (h d) -> b s (h d) where d = 4;"), "h")
                ->size,
            std::int64_t{6});
        QVERIFY(!ruled(model, "com.example::Foo: b s (h d) -> b s (h d);").known);
        QVERIFY(!ruled(model, "com.example::Foo: b s (h d) -> b s (h d) where d = 5;").known);
        QVERIFY(!ruled(model, "com.example::Foo: b s (h d) -> b s (h d) where h = other;").known);
    }
    void anyNumberOfDimensionsIsAlignedAtTheLast() {
        const std::string text = "com.example::Foo: b.. c, b.. c, c -> b.. c;";
        QCOMPARE(ruledText(custom({{2, 3, 4}, {3, 4}, {4}}, {2, 3, 4}), text),
                 QStringLiteral("b0 b1 c, b1 c, c -> b0 b1 c"));
        QCOMPARE(ruledText(custom({{4}, {4}, {4}}, {4}), text), QStringLiteral("c, c, c -> c"));
        QCOMPARE(ruledText(custom({{2, 3, 4}, {3, 1}, {1}}, {2, 3, 4}), text),
                 QStringLiteral("b0 b1 c, b1 1, 1 -> b0 b1 c"));
        QVERIFY(!ruled(custom({{2, 3, 4}, {5, 4}, {4}}, {2, 3, 4}), text).known);
    }
    void theFirstRuleThatFitsCounts() {
        const std::string text = "com.example::Foo: n -> n;\ncom.example::Foo: n d^ -> n d^;";
        QCOMPARE(ruledText(custom({{4}}, {4}), text), QStringLiteral("n -> n"));
        QCOMPARE(ruledText(custom({{4, 3}}, {4, 3}), text), QStringLiteral("n d^ -> n d^"));
        QVERIFY(!ruled(custom({{4, 3, 2}}, {4, 3, 2}), text).known);
    }
    void inputsAtTheEndMayBeMissing() {
        const std::string text = "com.example::Foo: n k+, k+, once n, _ -> n;";
        const Rule rule = ruled(custom({{4, 3}, {3}, {4}}, {4}), text);
        QCOMPARE(rule.text(), std::string("n k+, k+, n -> n"));
        QVERIFY(rule.inputs[2].addedOnce);
        QCOMPARE(ruledText(custom({{4, 3}, {3}}, {4}), text), QStringLiteral("n k+, k+ -> n"));
        QVERIFY(!ruled(custom({{4, 3}, {3}, {4}, {4}}, {4}), text).known);
    }
    void shapesCanBeAllThatIsRead() {
        const Rule rule =
            ruled(custom({{4, 3}, {7}}, {4, 3}), "com.example::Foo: n d, (shape) -> n d;");
        QCOMPARE(rule.text(), std::string("n d, (shape) -> n d"));
        QVERIFY(rule.inputs[1].shapeOnly);
    }
    void theyTakeThePlaceOfStandardRules() {
        const ModelBuilder relu = ModelBuilder().input("x", {4, 6}).op("Relu", {"x"}, {"y"});
        QCOMPARE(ruledText(relu, "Relu: n d^ -> n d^;"), QStringLiteral("n d^ -> n d^"));
        QCOMPARE(ruledText(relu, "ai.onnx::Relu: n d^ -> n d^;"), QStringLiteral("n d^ -> n d^"));
        QCOMPARE(ruledText(relu, "# nothing"), QStringLiteral("d0 d1 -> d0 d1"));
    }
    void theExamplesOfTheDocumentationAreRules() {
        QFile file(qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/docs/user-rules.md");
        QVERIFY(file.open(QIODevice::ReadOnly));
        std::string examples;
        for (const QByteArray& line : file.readAll().split('\n'))
            if (line.startsWith("    ") && !line.contains("rules.txt:"))
                examples += line.toStdString() + "\n";
        const auto rules = withUserRules(Registry::standard(), examples, "user-rules.md");
        QVERIFY2(rules, rules ? "" : rules.error().text().c_str());
        QVERIFY((*rules)->find("com.example", "Attention") != nullptr);
    }

    void errorsNameLineAndColumn_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("error");
        const auto row = [](const char* name, const char* text, const char* error) {
            QTest::newRow(name) << QString(text) << QString(error);
        };
        row("nothing", "", "fine");
        row("comment", "# only\n", "fine");
        row("no name", "->", "r.txt:1:1: expected the name of an operator, found `->`");
        row("no colon", "Foo a -> a;", "r.txt:1:5: expected `:`, found `a`");
        row("no arrow", "Foo: a b;", "r.txt:1:9: expected `->`, found `;`");
        row("no end", "Foo: a -> a\n",
            "r.txt:2:1: expected `where` or `;`, found the end of the file");
        row("no domain", "a.b: x -> x;", "r.txt:1:4: expected `::` behind the domain, found `:`");
        row("size", "Foo: a 2 -> a;",
            "r.txt:1:8: expected a factor; a size is given behind `where`, found `2`");
        row("empty slot", "Foo: a, -> a;",
            "r.txt:1:9: expected a tensor: its factors, `.`, `_` or `(shape)`, found `->`");
        row("open", "Foo: (a b -> a;", "r.txt:1:11: expected a factor or `)`, found `->`");
        row("marks", "Foo: a^ ->\n a;",
            "r.txt:2:2: `a` is marked differently than in line 1, column 6");
        row("kind", "Foo: k+mean -> .;",
            "r.txt:1:8: expected sum, prod, min, max, and, or, found `mean`");
        row("next factor", "Foo: k+ max -> max;", "fine");
        row("twice", "Foo: a a -> a;", "r.txt:1:6: `a` occurs twice in one tensor");
        row("a word", "Foo: k+, c -> b.. once c;",
            "r.txt:1:19: `once` is a word of the notation, not the name of a factor");
        row("a word inside", "Foo: (a _) -> a;",
            "r.txt:1:9: `_` is a word of the notation, not the name of a factor");
        row("no output", "Foo:\n  a k, k -> a;",
            "r.txt:2:5: `k` is in no output; mark it + where it is summed, ^ where it must be "
            "whole");
        row("summed", "Foo: k+ -> k+;", "r.txt:1:6: `k` is summed, so that some output lacks it");
        row("no input", "Foo: a -> a n~;", "r.txt:1:13: `n` is in no input");
        row("two ellipses", "Foo: a.. b.. -> a.. b..;",
            "r.txt:1:10: a tensor has one `..` at most, and not inside (...)");
        row("unknown item", "Foo: a -> a where b = 2;",
            "r.txt:1:19: no tensor of the rule has a factor `b`");
        row("reason", "Foo: a -> a where a = \"x\";",
            "r.txt:1:23: only a factor marked ^ or ~ has a reason");
        row("big", "Foo: a -> a where a = 99999999999999999999;",
            "r.txt:1:23: `99999999999999999999` is not a size");
        row("text", "Foo: a^ -> a^ where a = \"x\n\";",
            "r.txt:1:25: a text in double quotes ends on its own line");
        row("characters", "# ä\nFoo: a -> a where a = \"ä\" ä;",
            "r.txt:2:23: only a factor marked ^ or ~ has a reason");
        row("after a text", "Foo: a^ -> a^ where a = \"äöü\" x;",
            "r.txt:1:31: expected `where` or `;`, found `x`");
        row("two sizes", "Foo: a -> a where a = 4,\n a = 5;",
            "r.txt:2:2: the size of `a` is given in line 1, column 19 already");
        row("two equal sizes", "Foo: a -> a where a = 4, a = 4;",
            "r.txt:1:26: the size of `a` is given in line 1, column 19 already");
        row("a size and an attribute", "Foo: a -> a where a = 4, a = heads;",
            "r.txt:1:26: the size of `a` is given in line 1, column 19 already");
        row("two reasons", "Foo: a^ -> a^ where a = \"x\", a = \"y\";",
            "r.txt:1:30: the reason of `a` is given in line 1, column 21 already");
        row("a size and a reason", "Foo: a^ -> a^ where a = 4, a = \"y\";", "fine");
        row("one attribute twice", "Foo: a b -> a b where a = heads, b = heads;",
            "r.txt:1:38: `heads` names the size of `a` already");
        row("the next rule", "Foo: a -> a where a = n; Bar: a -> a where a = n;", "fine");
        row("a rule twice", "Foo: a -> a;\nai.onnx::Foo: a -> a;",
            "r.txt:2:1: the same rule of `Foo` is in line 1, column 1");
        row("alternatives", "Foo: a -> a where a = 2; Foo: a -> a; b::Foo: a -> a;", "fine");
        row("a mark of the order of bytes",
            "\xEF\xBB\xBF"
            "Foo",
            "r.txt:1:4: expected `:`, found the end of the file");
        row("that mark inside",
            "Foo: \xEF\xBB\xBF"
            "oo",
            "r.txt:1:6: expected a tensor: its factors, `.`, `_` or `(shape)`, found `\uFEFFoo` "
            "(names have letters from a to z, digits and `_`, not U+FEFF)");
        row("a foreign name", "# ö\nFoo: a b -> a Föö;",
            "r.txt:2:15: expected `where` or `;`, found `Föö` (names have letters from a to z, "
            "digits and `_`, not U+00F6)");
        row("an arrow", "Foo: a → a;",
            "r.txt:1:8: expected `->`, found `→` (names have letters from a to z, digits and `_`, "
            "not U+2192)");
        row("line ends of Windows", "# one\r\nFoo: a ->\r\n\tb;",
            "r.txt:2:6: `a` is in no output; mark it + where it is summed, ^ where it must be "
            "whole");
        row("line ends of old", "# one\rFoo: a ->\r\tb c;\r",
            "r.txt:2:6: `a` is in no output; mark it + where it is summed, ^ where it must be "
            "whole");
        row("a text over such", "Foo: a^ -> a^ where a = \"x\r\";",
            "r.txt:1:25: a text in double quotes ends on its own line");
        row("a tab is a character", "\tFoo:\ta -> ?;",
            "r.txt:1:12: expected a tensor: its factors, `.`, `_` or `(shape)`, found `?`");
        row("mark", "Foo: a -> a where a = ?;",
            "r.txt:1:23: expected an attribute, a number or a reason in double quotes, found `?`");
    }
    void whatIsNoTextIsRefused_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("error");
        QTest::newRow("NUL") << QByteArray("Foo: a\0-> a;", 12)
                             << "r.txt:1:7: a file of rules has no control characters (U+0000)";
        QTest::newRow("in a comment") << QByteArray("# ö\n#\x1b[31m\n")
                                      << "r.txt:2:2: a file of rules has no control characters "
                                         "(U+001B)";
        QTest::newRow("Latin 1") << QByteArray("Foo: a^ -> a^ where a = \"ö f\xFCr\";")
                                 << "r.txt:1:29: this is not UTF-8 text (byte 0xFC)";
        QTest::newRow("cut") << QByteArray("# \xC3")
                             << "r.txt:1:3: this is not UTF-8 text (byte 0xC3)";
        QTest::newRow("UTF-16") << QByteArray("\xFF\xFE#\0", 4)
                                << "r.txt:1:1: this is not UTF-8 text (byte 0xFF)";
    }
    void whatIsNoTextIsRefused() {
        QFETCH(QByteArray, text);
        QFETCH(QString, error);
        QCOMPARE(errorOf(text.toStdString()), error);
    }
    void longLinesAreRead() {
        std::string text = "Foo: a -> a where a = 4; #";
        text.append(500000, 'x').append("\n").append(400000, ' ').append("?");
        QCOMPARE(errorOf(text),
                 QStringLiteral("r.txt:2:400001: expected the name of an operator, found `?`"));
    }
    void errorsNameLineAndColumn() {
        QFETCH(QString, text);
        QFETCH(QString, error);
        QCOMPARE(errorOf(text.toStdString()), error);
    }
    void hostileTextIsNoCrash() {
        QCOMPARE(errorOf(std::string((1 << 20) + 1, ' ')),
                 QStringLiteral("r.txt: a file of rules has at most 1 MiB"));
        std::string dims = "Foo: ";
        for (int i = 0; i < 300; ++i)
            dims += "1 ";
        QVERIFY(errorOf(dims + "-> .;").endsWith("a tensor has at most 256 dimensions"));
        QVERIFY(errorOf("Foo: " + std::string(500000, '(')) != "fine");
        QVERIFY(errorOf("Foo: " + std::string(500000, 'a') + " -> ?") != "fine");
        const std::string valid = "com.example::Foo: b.. (h d^), k+max -> b.. (h d^) where h = 3, "
                                  "d = \"x\"; Foo: (shape), _, once . -> .;";
        QCOMPARE(errorOf(valid), QStringLiteral("fine"));
        // Every cut and every changed character is read or refused.
        for (std::size_t i = 0; i < valid.size(); ++i) {
            QVERIFY(!errorOf(valid.substr(0, i)).isEmpty());
            for (const char c : {'(', '"', ';', '+', '\0', '\xff', '9', '.'}) {
                std::string changed = valid;
                changed[i] = c;
                QVERIFY(!errorOf(changed).isEmpty());
            }
        }
    }
    void theRulesOfAllSharedModelsReadBackAsTheyWere() {
        if (sharedModels().empty())
            QSKIP("needs the shared models");
        int rules = 0;
        for (const auto& path : sharedModels()) {
            const auto model = Model::load(path);
            QVERIFY2(bool(model), path.string().c_str());
            const auto shapes = ShapeTable::build(*model, {});
            const auto table = RuleTable::build(*model, shapes);
            std::set<RulePtr> seen;
            for (const NodeInfo& node : (*model)->graph().nodes) {
                const Rule& rule = *table->of(node.id);
                if (!rule.known || !rule.slices.empty() || !seen.insert(table->of(node.id)).second)
                    continue;
                const std::string text = ruleNotation(rule);
                const auto written = parseRules(text, "r.txt");
                QVERIFY2(bool(written), (text + (written ? "" : written.error().text())).c_str());
                const NodeContext context{(*model)->graph(), *shapes, node, 0};
                if (!node.captures.empty())
                    continue;  // A rule of one's own has no captures.
                const auto back = applyRule(written->front(), context);
                QVERIFY2(back.has_value(), text.c_str());
                QVERIFY2(sameFactors(rule, *back), (text + "\n" + back->text()).c_str());
                ++rules;
            }
        }
        QVERIFY2(rules > 300, std::to_string(rules).c_str());
    }

    void whatIsLeftOutAtTheEndMayBeWrittenAsAnEmptyName() {
        const auto model = ModelBuilder()
                               .opset("com.example", 1)
                               .input("x", {4, 6})
                               .output("y", {4, 6})
                               .op("Foo", {"x", ""}, {"y", ""}, "foo", {}, "com.example");
        QCOMPARE(ruledText(model, "com.example::Foo: a b -> a b;"), QString("a b, _ -> a b, _"));
    }
};

QTEST_GUILESS_MAIN(TstUserRules)
#include "tst_user_rules.moc"
