// Package clustertest runs prepare-data on a real Flink cluster. Its tests need
// Java and have the build tag cluster: make cluster-test.
//
// One JobManager, two TaskManagers and Beam's job server, each a JVM of its own,
// run on loopback, where possible in namespaces of their own, because the job
// server opens its ports to every machine that reaches this one.
package clustertest
