// SPDX-License-Identifier: Apache-2.0
#include "model/persistent_array.h"

#include <QtTest>

#include <numeric>

using namespace shardwright;

namespace {

using Array = PersistentArray<int>;

/// 0, 1, 2 ...
Array numbers(std::size_t size) {
    Array::Editor editor(size);
    for (std::size_t i = 0; i < size; ++i)
        editor.edit(i) = static_cast<int>(i);
    return std::move(editor).finish();
}

std::vector<std::size_t> differences(const Array& a, const Array& b) {
    std::vector<std::size_t> found;
    Array::compare(a, b, [&](std::size_t i) { found.push_back(i); });
    return found;
}

}  // namespace

class TstPersistentArray : public QObject {
    Q_OBJECT
private slots:
    void aCopyStaysAsItIs() {
        Array array = numbers(200);
        const Array before = array;
        array.set(70, -1);
        QCOMPARE(array[70], -1);
        QCOMPARE(array[71], 71);
        QCOMPARE(before[70], 70);
    }

    void anEditorLeavesItsSnapshotsAlone() {
        Array::Editor editor(numbers(100));
        editor.edit(3) = 30;
        const Array snapshot = editor.snapshot();
        editor.edit(3) = 300;
        QCOMPARE(snapshot[3], 30);
        QCOMPARE(std::move(editor).finish()[3], 300);
    }

    void allElementsAreWalkedInOrder() {
        for (const std::size_t size : {0u, 1u, 63u, 64u, 65u, 200u}) {
            const Array array = numbers(size);
            std::vector<int> wanted(size);
            std::iota(wanted.begin(), wanted.end(), 0);
            QCOMPARE(std::vector<int>(array.begin(), array.end()), wanted);
        }
    }

    void whatDiffersIsFound() {
        const Array array = numbers(200);
        Array other = array;
        QVERIFY(differences(array, other).empty());
        other.set(1, -1);
        other.set(63, -1);
        other.set(199, -1);
        QCOMPARE(differences(array, other), (std::vector<std::size_t>{1, 63, 199}));
        // Equal, though not shared.
        QVERIFY(differences(array, numbers(200)).empty());
    }

    void onlyWhatBothHaveIsCompared() {
        Array other = numbers(70);
        other.set(69, -1);
        QCOMPARE(differences(numbers(200), other), (std::vector<std::size_t>{69}));
        QCOMPARE(differences(other, numbers(65)), std::vector<std::size_t>{});
    }

    void growingKeepsWhatIsThereAndAddsDefaults() {
        Array::Editor editor(numbers(65));
        editor.grow(10);
        QCOMPARE(editor.size(), std::size_t(65));
        editor.grow(130);
        const Array array = std::move(editor).finish();
        QCOMPARE(array.size(), std::size_t(130));
        QCOMPARE(array[64], 64);
        QCOMPARE(array[65], 0);
        QCOMPARE(array[129], 0);
    }
};

QTEST_GUILESS_MAIN(TstPersistentArray)
#include "tst_persistent_array.moc"
