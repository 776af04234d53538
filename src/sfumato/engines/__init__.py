"""Reading tables, and summing what each record contributes. Engines never see noise or budget."""
