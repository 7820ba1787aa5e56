// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// ReasonInvalidACLLogging is the reason for an annotation of a Namespace that does not describe which connections are logged.
const ReasonInvalidACLLogging = "InvalidACLLogging"

// logMeter is the meter of OVN that limits what ACLs log. It is not created here: it is the operator's, and that of the whole database.
const logMeter = "acl-logging"

// longestACLName is the longest name of an ACL in OVN.
const longestACLName = 63

// Logging are the severities with which the connections are logged that NetworkPolicies of a namespace allow and deny, "" for none.
type Logging struct {
	Allow string `json:"allow"`
	Deny  string `json:"deny"`
}

// LoggingOf returns what the annotation of a Namespace requests. What is not valid requests nothing, as in ovn-kubernetes.
func LoggingOf(namespace *corev1.Namespace) (Logging, *Problem) {
	var logging Logging
	text := namespace.Annotations[midonetv1.AnnotationACLLogging]
	if text == "" {
		return logging, nil
	}
	invalid := problem(ReasonInvalidACLLogging, `annotation %s is %.200q: set the severities alert, warning, notice, info or debug, such as {"deny":"alert","allow":"info"}`,
		midonetv1.AnnotationACLLogging, text)
	if json.Unmarshal([]byte(text), &logging) != nil {
		return Logging{}, invalid
	}
	isValid := true
	for _, severity := range []*string{&logging.Allow, &logging.Deny} {
		if *severity != "" && !slices.Contains([]string{"alert", "warning", "notice", "info", "debug"}, *severity) {
			*severity, isValid = "", false
		}
	}
	if !isValid {
		return logging, invalid
	}
	return logging, nil
}

// logged returns the columns of an ACL by which OVN logs it, with its name, if there is a severity.
func logged(name, severity string) columns {
	of := columns{"name": name}
	if severity != "" {
		of["log"], of["severity"], of["meter"] = true, severity, logMeter
	}
	return of
}

// aclName returns the name of an ACL of a policy, which OVN logs with the direction. The end distinguishes it, so that it is kept.
func aclName(p *Policy, part string) string {
	name, end := p.Namespace+"_"+p.Name, "_"+part
	return name[:min(len(name), longestACLName-len(end))] + end
}

// denials returns the ACLs that log what a policy denies. They drop what no policy allows, as the ACLs of isolated Pods do, which come last:
// those are about the Pods of all policies and cannot name one.
func (o OVN) denials(p *Policy, logging Logging) []midonetv1.BackendResource {
	if logging.Deny == "" {
		return nil
	}
	var denials []midonetv1.BackendResource
	at := o.policyGroup(p, "")
	for _, isolated := range []struct {
		in              bool
		direction, port string
	}{{p.Ingress, toPort, "outport"}, {p.Egress, fromPort, "inport"}} {
		if isolated.in {
			denials = append(denials, acl(at, SubID(at, denialPart(isolated.direction)), isolated.direction, priorityDenied, "drop",
				fmt.Sprintf("%s == @%s && ip", isolated.port, groupName(at)), logged(aclName(p, "deny"), logging.Deny)))
		}
	}
	return denials
}

func denialPart(direction string) string { return "Deny " + direction }
