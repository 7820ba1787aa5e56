// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// A plugin of Headlamp: an entry of the sidebar for each kind of Groundskeeper, with a list that has its state. It is not compiled:
// Headlamp loads this file, and passes pluginLib.
(function () {
  const { React, CommonComponents, Crd, registerRoute, registerSidebarEntry } = pluginLib;

  // json returns the object as the API server sent it.
  const json = (item) => item.jsonData || item;

  const condition = (item, type) =>
    (((json(item).status || {}).conditions) || []).find((c) => c.type === type) || {};

  // state returns what a user wants to know first: whether the object is ready, or who has to act.
  const state = (item) => {
    if ((json(item).metadata || {}).deletionTimestamp) return 'Deleting';
    if (condition(item, 'Stalled').status === 'True') return 'Stalled';
    return condition(item, 'Ready').status === 'True' ? 'Ready' : 'Reconciling';
  };

  // column returns a column with the value of a function, or nothing.
  const column = (label, value) => ({
    id: label,
    label,
    getValue: (item) => {
      const found = value(json(item));
      return found === undefined || found === null ? '' : String(found);
    },
  });

  const common = [
    column('State', state),
    column('Reason', (o) => condition(o, 'Ready').reason),
  ];
  const message = column('Message', (o) => (state(o) === 'Ready' ? '' : condition(o, 'Ready').message));

  const kinds = [
    {
      kind: 'Project', group: 'core.gardener.cloud', version: 'v1beta1', plural: 'projects', namespaced: false,
      columns: [
        column('Project namespace', (o) => (o.spec || {}).namespace),
        column('Owner', (o) => ((o.spec || {}).owner || {}).name),
      ],
    },
    {
      kind: 'Kluster', group: 'kubernikus.sap.cc', version: 'v1', plural: 'klusters', namespaced: true,
      columns: [
        column('Version', (o) => (o.spec || {}).version),
        column('Phase', (o) => (o.status || {}).phase),
        column('Stage', (o) => ((o.status || {}).deorbit || {}).stage),
      ],
    },
    {
      kind: 'DiscoveryBackend', group: 'gimbal.heptio.com', version: 'v1', plural: 'discoverybackends', namespaced: true,
      columns: [
        column('Status', (o) => (o.cluster || {}).clusterStatus),
        column('Services', (o) => (o.status || {}).services),
        column('Drained', (o) => condition(o, 'Drained').status),
        column('Errors', (o) => ((o.status || {}).errors || []).length),
      ],
    },
    {
      kind: 'Translation', group: 'midonet.org', version: 'v1', plural: 'translations', namespaced: true,
      columns: [column('Resources', (o) => (o.resources || []).length)],
    },
  ];

  registerSidebarEntry({ parent: null, name: 'groundskeeper', label: 'Groundskeeper', icon: 'mdi:sprout', url: '/groundskeeper/projects' });
  kinds.forEach((k) => {
    const resourceClass = Crd.makeCustomResourceClass({
      apiInfo: [{ group: k.group, version: k.version }],
      kind: k.kind,
      pluralName: k.plural,
      singularName: k.kind.toLowerCase(),
      isNamespaced: k.namespaced,
    });
    const title = k.kind + 's';
    const columns = ['name'].concat(k.namespaced ? ['namespace'] : [], common, k.columns, [message, 'age']);
    registerSidebarEntry({ parent: 'groundskeeper', name: k.plural, label: title, url: '/groundskeeper/' + k.plural });
    registerRoute({
      path: '/groundskeeper/' + k.plural,
      sidebar: k.plural,
      name: title,
      exact: true,
      component: () => React.createElement(CommonComponents.ResourceListView, { title, resourceClass, columns }),
    });
  });
})();
