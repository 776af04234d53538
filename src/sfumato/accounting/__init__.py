"""What has been spent: events, the accountants that add them up, and the durable ledger."""
