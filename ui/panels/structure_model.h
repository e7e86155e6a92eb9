// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <QAbstractItemModel>

#include <memory>
#include <vector>

namespace shardwright {

/// Scopes and the nodes in them as a tree. Scopes come before nodes.
class StructureModel : public QAbstractItemModel {
    Q_OBJECT

public:
    using QAbstractItemModel::QAbstractItemModel;
    void setModel(std::shared_ptr<const Model> model);
    NodeId node(const QModelIndex& index) const;    ///< Invalid for scopes.
    ScopeId scope(const QModelIndex& index) const;  ///< Invalid for nodes.
    QModelIndex indexOf(NodeId node) const;
    QModelIndex indexOf(ScopeId scope) const;

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& index) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

private:
    const ScopeInfo& scopeInfo(const QModelIndex& index) const;
    std::size_t childCount(const ScopeInfo& scope) const {
        return scope.children.size() + scope.nodes.size();
    }

    std::shared_ptr<const Model> m_model;
    std::vector<int> m_scopeRows, m_nodeRows;
};

}  // namespace shardwright
