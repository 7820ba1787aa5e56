// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// chassis wants the name of a Node's chassis, if it is not the Node's.
func chassis() *network {
	return &network{
		annotation: midonetv1.AnnotationOVNChassis,
		unlisted:   "the chassis of OVN cannot be listed: ",
		none:       "OVN has no chassis with the name or the hostname %s: start ovn-controller there, or set annotation %s",
		many: "OVN has %d chassis with the name or the hostname %s (%s): " +
			"remove all except one (ovn-sbctl chassis-del), or set annotation %s",
		changes: addChassis,
		follow:  followChassis,
	}
}

// addChassis returns the annotations to write to a Node without one, whose chassis has the given name, and removes the records of an
// annotation that was removed. Without a name nothing is known.
func addChassis(node *corev1.Node, name string) map[string]*string {
	set := map[string]*string{}
	if name == "" {
		return set
	}
	for _, record := range []string{midonetv1.AnnotationWrittenOVNChassis, midonetv1.AnnotationOVNChassisProblem} {
		if _, recorded := node.Annotations[record]; recorded {
			set[record] = nil
		}
	}
	if name != node.Name {
		set[midonetv1.AnnotationOVNChassis], set[midonetv1.AnnotationWrittenOVNChassis] = &name, &name
	}
	return set
}

// followChassis compares the chassis of a Node with those that exist. A reinstalled node has another name of its chassis. What the
// annotator wrote follows it if exactly one chassis has the name or the hostname of the Node, because any other may be that of another
// machine; what another client wrote stays. The problem is recorded for those who have no access to the Southbound database.
func followChassis(node *corev1.Node, chassis map[string][]string) (map[string]*string, *convert.Problem) {
	names := chassis[node.Name]
	set := map[string]*string{}
	current := node.Annotations[midonetv1.AnnotationOVNChassis]
	written, recorded := node.Annotations[midonetv1.AnnotationWrittenOVNChassis]
	own := recorded && written == current
	var wrong *convert.Problem
	switch {
	case own && len(names) == 1 && names[0] == node.Name:
		set[midonetv1.AnnotationOVNChassis], set[midonetv1.AnnotationWrittenOVNChassis] = nil, nil
	case own && len(names) == 1:
		if name := names[0]; name != current {
			set[midonetv1.AnnotationOVNChassis], set[midonetv1.AnnotationWrittenOVNChassis] = &name, &name
		}
	case own && len(names) > 1:
		wrong = &convert.Problem{Reason: reasonManyChassis, Message: fmt.Sprintf(
			"OVN has %d chassis with the name or the hostname %s (%s), and the node uses %s: "+
				"remove those that do not run any more (ovn-sbctl chassis-del)",
			len(names), node.Name, few(names), current)}
	case len(chassis[current]) == 0:
		wrong = &convert.Problem{Reason: reasonNoChassis, Message: fmt.Sprintf(
			"annotation %s is %s, and OVN has no chassis with this name or hostname, so the ports of the node are not connected: "+
				"correct the annotation, or remove it to have it set automatically", midonetv1.AnnotationOVNChassis, current)}
	}
	if recorded && !own {
		set[midonetv1.AnnotationWrittenOVNChassis] = nil
	}
	text, noted := node.Annotations[midonetv1.AnnotationOVNChassisProblem]
	switch {
	case wrong == nil && noted:
		set[midonetv1.AnnotationOVNChassisProblem] = nil
	case wrong != nil && text != wrong.Message:
		set[midonetv1.AnnotationOVNChassisProblem] = &wrong.Message
	}
	return set, wrong
}
