// Command install puts Fourfold's dashboard, monitors and service level objectives into a Datadog account, and updates them
// when it is run again.
//
//	DD_API_KEY=… DD_APP_KEY=… go run ./install
//
// It reads the environment: DD_API_KEY and DD_APP_KEY (required), DD_SITE (datadoghq.com), DD_ENV (the environment that is
// watched; prod), FOURFOLD_RUNBOOKS (address of docs/operations.md) and FOURFOLD_NOTIFY (such as @slack-oncall). With the
// argument -print it prints what it would install, one JSON document a line, and needs no keys.
package main
