// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;

namespace shardwright {

class UserRulesFile;

/// Settings that are no view of the model. What is chosen is in force at once.
class PreferencesDialog : public QDialog {
    Q_OBJECT

public:
    PreferencesDialog(UserRulesFile* rules, QWidget* parent);

private:
    QWidget* buildRules();
    void browse();
    void refresh();

    UserRulesFile* m_rules;
    QLineEdit* m_path;
    QPushButton *m_browse, *m_reload, *m_clear;
    QLabel* m_state;
};

}  // namespace shardwright
