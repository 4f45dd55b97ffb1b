"""The state of operators: in the driver, or held by Spark tasks."""
