// SPDX-License-Identifier: Apache-2.0
#include "support/model_builder.h"

#include "model/attributes.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

class TstAttributes : public QObject {
    Q_OBJECT
private slots:
    void numbersListsAndTextsAreWrittenAsPeopleWriteThem() {
        const Document document =
            ModelBuilder{}
                .input("x", {2, 3})
                .op("Foo", {"x"}, {"y"}, "foo",
                    {{"axis", 1}, {"alpha", 0.5}, {"perm", {1, 0}}, {"mode", "linear"}},
                    "com.example")
                .output("y")
                .document();
        const auto texts = attributeTexts(document.graph(), nodeNamed(document.graph(), "foo"));
        QCOMPARE(texts.size(), std::size_t(4));
        QCOMPARE(texts[0].name + ":" + texts[0].type + "=" + texts[0].value,
                 std::string("axis:INT=1"));
        QCOMPARE(texts[1].value, std::string("0.5"));
        QCOMPARE(texts[2].value, std::string("[1, 0]"));
        QCOMPARE(texts[3].value, std::string("linear"));
    }
    void longValuesAreCutAndCounted() {
        const std::vector<std::int64_t> many(100000, 7);
        const Document document =
            ModelBuilder{}
                .input("x", {2})
                .op("Foo", {"x"}, {"y"}, "foo",
                    {{"many", many}, {"long", std::string(100000, 'a')}}, "com.example")
                .output("y")
                .document();
        const auto texts = attributeTexts(document.graph(), nodeNamed(document.graph(), "foo"));
        QVERIFY(texts[0].value.size() < kMaxAttributeText + 50);
        QVERIFY(texts[0].value.ends_with("(100000 values)") || texts[0].value.ends_with(" ..."));
        QVERIFY(texts[1].value.size() < kMaxAttributeText + 50);
    }
};

QTEST_GUILESS_MAIN(TstAttributes)
#include "tst_attributes.moc"
