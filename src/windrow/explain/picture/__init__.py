"""The overview as a drawing: a headline, a flow of queries, panels of trees."""
